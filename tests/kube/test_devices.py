"""One device is withheld on a real API: on the node, and where MindCluster gives devices out, in its ConfigMap too."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_devices import SYSTEM, separated_of
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_node import WITHHOLDS, node_of
from keepstep.adapters.kube_resources import CONFIG_MAPS, NODES
from keepstep.contracts.ids import IncidentId, NodeName
from keepstep.ports.cluster import CordonMark, NodeStatus, Withheld
from keepstep.ports.errors import Permanent
from tests.kube.cluster import Cluster, cluster, until
from tests.kube.server import kinds

MARK = CordonMark("keepstep", "SeparateNPU 80E01801", datetime(2026, 1, 1, tzinfo=UTC), IncidentId("abc"))
NPU = "Ascend910-3"
N1, N2, N3 = NodeName("n1"), NodeName("n2"), NodeName("n3")
INFO = "mindx-dl-deviceinfo-n1"


@dataclass
class Rig:
    there: Cluster
    fleet: KubeFleet

    async def node(self, name: NodeName) -> NodeStatus:
        return next(one for one in await self.fleet.nodes() if one.name == name)

    async def until_none_is_withheld(self, name: NodeName) -> None:
        async with asyncio.timeout(20):
            while (await self.node(name)).withheld:  # noqa: ASYNC110 - the cache tells nobody
                await asyncio.sleep(0.005)

    def listed(self) -> str:
        data: dict[str, str] = self.there.store.get(kinds.CONFIG_MAP, INFO, SYSTEM)["data"]
        return data.get("ManuallySeparateNPU", "")

    def noted(self, name: NodeName) -> dict[str, Any]:
        notes = self.there.store.get(kinds.NODE, name)["metadata"].get("annotations", {})
        found: dict[str, Any] = json.loads(notes.get("keepstep.io/isolated-devices", "{}"))
        return found

    def put(self, listed: str) -> None:
        self.there.store.patch(kinds.CONFIG_MAP, INFO, {"data": {"ManuallySeparateNPU": listed}}, namespace=SYSTEM)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """Three nodes: MindCluster gives out the devices of the first, a plugin that knows keepstep those of the second."""
    async with cluster(tmp_path) as there:
        for name in ("n1", "n2", "n3"):
            there.node(name)
        there.store.patch(kinds.NODE, "n2", {"metadata": {"labels": {WITHHOLDS: "yes"}}})
        data = {"DeviceInfoCfg": "{}", "ManuallySeparateNPU": "Ascend910-7"}
        there.store.create(kinds.CONFIG_MAP, {"metadata": {"name": INFO}, "data": data}, SYSTEM)
        nodes = Cache(there.client, NODES, node_of, rhythm=there.rhythm)
        maps = Cache(there.client, CONFIG_MAPS, separated_of, namespace=SYSTEM, rhythm=there.rhythm)
        fleet = KubeFleet(there.client, nodes, separated=maps, now=lambda: MARK.at)
        task = asyncio.create_task(fleet.follow())
        try:
            yield Rig(there, fleet)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_a_node_can_do_without_a_device_only_where_something_heeds_it(rig: Rig) -> None:
    assert [(await rig.node(name)).withholds for name in (N1, N2, N3)] == [True, True, False]


async def test_a_device_is_withheld_beside_those_that_others_withhold(rig: Rig) -> None:
    await rig.fleet.withhold(N1, NPU, MARK)
    assert rig.listed() == "Ascend910-7,Ascend910-3"
    assert rig.noted(N1)[NPU]["incident"] == "abc"
    assert (await rig.node(N1)).withheld == (Withheld(NPU, MARK),)
    assert (await rig.node(N1)).mark is None


async def test_a_device_again_writes_nothing(rig: Rig) -> None:
    await rig.fleet.withhold(N1, NPU, MARK)
    writes = len(rig.there.writes)
    await rig.fleet.withhold(N1, NPU, MARK)
    assert len(rig.there.writes) == writes == 2


async def test_a_release_leaves_the_devices_of_others_out(rig: Rig) -> None:
    await rig.fleet.withhold(N1, NPU, MARK)
    await rig.fleet.give_back(N1, NPU)
    assert rig.listed() == "Ascend910-7"
    assert rig.noted(N1) == {}
    assert (await rig.node(N1)).withheld == ()


async def test_a_device_that_somebody_takes_off_the_list_is_ours_no_more(rig: Rig) -> None:
    await rig.fleet.withhold(N1, NPU, MARK)
    rig.put("Ascend910-7")
    await rig.until_none_is_withheld(N1)


async def test_half_a_withholding_is_completed(rig: Rig) -> None:
    """The isolator died between its two writes."""
    await rig.fleet.withhold(N1, NPU, MARK)
    rig.put("Ascend910-7")
    await rig.fleet.withhold(N1, NPU, MARK)
    assert rig.listed() == "Ascend910-7,Ascend910-3"


async def test_a_labelled_node_is_told_by_its_annotation_alone(rig: Rig) -> None:
    await rig.fleet.withhold(N2, "GPU-5f3c", MARK)
    assert (await rig.node(N2)).withheld == (Withheld("GPU-5f3c", MARK),)
    assert rig.listed() == "Ascend910-7"


async def test_a_name_that_the_device_plugin_does_not_know_is_refused(rig: Rig) -> None:
    await rig.fleet.nodes()
    with pytest.raises(Permanent, match="no device that the ConfigMap"):
        await rig.fleet.withhold(N1, "mlx5_0", MARK)
    assert rig.noted(N1) == {}


@pytest.mark.parametrize("note", ["{", "[" * 100_000], ids=["cut off", "nested beyond reading"])
async def test_an_annotation_that_a_hand_garbled_withholds_nothing(rig: Rig, note: str) -> None:
    await rig.fleet.withhold(N2, "GPU-5f3c", MARK)
    garbled = {"metadata": {"annotations": {"keepstep.io/isolated-devices": note}}}
    rig.there.store.patch(kinds.NODE, "n2", garbled)
    await rig.until_none_is_withheld(N2)


async def test_writes_of_others_to_the_node_do_not_get_lost(rig: Rig) -> None:
    await rig.fleet.nodes()
    calls = 0
    edit = rig.there.client.get

    async def meddled(ref: Any) -> Any:
        nonlocal calls
        found = await edit(ref)
        calls += 1
        if calls == 1:
            rig.there.store.patch(kinds.NODE, "n2", {"metadata": {"labels": {"kubelet": "wrote"}}})
        return found

    rig.there.client.get = meddled  # type: ignore[method-assign]  # somebody else writes between this read and the write
    await rig.fleet.withhold(N2, "GPU-5f3c", MARK)
    assert rig.there.store.get(kinds.NODE, "n2")["metadata"]["labels"]["kubelet"] == "wrote"
    assert [write.refused != "" for write in rig.there.writes] == [True, False]
    await until(lambda: "GPU-5f3c" in rig.noted(N2))
