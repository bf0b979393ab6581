"""Objects of a real API that show troubles of nodes: followed from the first list on, and a heartbeat is no news."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_trouble import CONDITIONS
from keepstep.adapters.kube_troubles import KubeTroubles
from keepstep.ports.troubles import Shown, Trouble
from tests.kube.cluster import Cluster, cluster, until
from tests.kube.server import kinds
from tests.kube.test_mindcluster import NPU, devices, fault, host

DEADLOCK = {
    "type": "KernelDeadlock",
    "status": "True",
    "reason": "DockerHung",
    "message": "task docker:7 blocked",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


class Rig:
    """A cluster of one node, and what was seen of it."""

    def __init__(self, there: Cluster) -> None:
        self.there, self.seen = there, list[Shown]()
        self._troubles = KubeTroubles(there.client, conditions=CONDITIONS, mindcluster=True, rhythm=there.rhythm)
        self.follow()

    def follow(self) -> None:
        self._following = asyncio.create_task(self._troubles.follow(self.take))

    async def pause(self) -> None:
        self._following.cancel()
        with suppress(asyncio.CancelledError):
            await self._following

    async def take(self, shown: Shown) -> None:
        self.seen.append(shown)

    async def until_seen(self, count: int) -> Shown:
        await until(lambda: len(self.seen) >= count)
        return self.seen[count - 1]

    def condition(self, **changes: Any) -> None:
        def change(node: dict[str, Any]) -> None:
            kept = [one for one in node["status"]["conditions"] if one["type"] != DEADLOCK["type"]]
            node["status"]["conditions"] = [*kept, DEADLOCK | changes]

        self.there.store.edit(kinds.NODE, "n1", "", change, subresource="status", manager="node-problem-detector")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with cluster(tmp_path) as there:
        there.node("n1")
        there.store.create(kinds.NAMESPACE, {"metadata": {"name": "mindx-dl"}})
        rig = Rig(there)
        try:
            yield rig
        finally:
            await rig.pause()


def made(source: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": source["metadata"]["name"]}, "data": source["data"]}


async def test_a_condition_that_a_node_problem_detector_sets_is_a_trouble_of_the_node(rig: Rig) -> None:
    assert (await rig.until_seen(1)).troubles == ()
    rig.condition()
    found = await rig.until_seen(2)
    text, since = "DockerHung: task docker:7 blocked", "2026-01-01T00:00:00Z"
    assert found.troubles == (Trouble("KernelDeadlock", text=text, since=since),)
    rig.condition(status="False")
    assert (await rig.until_seen(3)).troubles == ()


async def test_a_heartbeat_of_a_condition_is_no_news(rig: Rig) -> None:
    await rig.until_seen(1)
    rig.condition()
    rig.condition(lastHeartbeatTime="2026-01-01T00:01:00Z")
    rig.condition(status="False")
    await rig.until_seen(3)
    assert [len(one.troubles) for one in rig.seen] == [0, 1, 0]


async def test_a_lost_node_and_its_pressures_are_none_of_these_troubles(rig: Rig) -> None:
    """Who is lost with the node is told by its tasks; a second word on it would be a second incident."""
    await rig.until_seen(1)

    def lose(node: dict[str, Any]) -> None:
        for one in node["status"]["conditions"]:
            one["status"] = "Unknown" if one["type"] == "Ready" else "True"

    rig.there.store.edit(kinds.NODE, "n1", "", lose, subresource="status")
    rig.condition()
    assert [one.code for one in (await rig.until_seen(2)).troubles] == ["KernelDeadlock"]


async def test_faults_that_mindcluster_writes_down_are_seen_and_end_with_the_object(rig: Rig) -> None:
    await rig.until_seen(1)
    rig.there.store.create(kinds.CONFIG_MAP, made(devices(fault())), "kube-system")
    assert [one.device for one in (await rig.until_seen(2)).troubles] == [NPU]
    said = {"DeviceType": "CPU", "DeviceId": 0, "FaultCode": ["2C000031"], "FaultLevel": "SeparateFault"}
    rig.there.store.create(kinds.CONFIG_MAP, made(host(said)), "mindx-dl")
    found = await rig.until_seen(3)
    assert [one.code for one in found.troubles] == ["mindcluster host CPU 0 2C000031"]
    rig.there.store.delete(kinds.CONFIG_MAP, "mindx-dl-nodeinfo-n1", "mindx-dl")
    gone = await rig.until_seen(4)
    assert (gone.gone, gone.place, gone.troubles) == (True, found.place, ())


async def test_config_maps_of_others_are_not_looked_at(rig: Rig) -> None:
    await rig.until_seen(1)
    rig.there.store.create(kinds.CONFIG_MAP, {"metadata": {"name": "coredns"}, "data": {"a": "b"}}, "kube-system")
    rig.condition()
    assert (await rig.until_seen(2)).source == "node-problem-detector"


async def test_who_follows_again_after_a_pause_is_shown_nothing_that_is_over(rig: Rig) -> None:
    rig.condition()
    await until(lambda: bool(rig.seen) and bool(rig.seen[-1].troubles))
    await rig.pause()
    rig.condition(status="False")
    rig.seen.clear()
    rig.follow()
    assert (await rig.until_seen(1)).troubles == ()
