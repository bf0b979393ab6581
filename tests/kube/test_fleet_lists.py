"""A list that is still being taken in: what was written meanwhile is newer than what it tells."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_devices import DEVICES, SYSTEM, Separated, separated_of
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_node import ISOLATED, node_of
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid
from keepstep.adapters.kube_resources import CONFIG_MAPS, NODES
from keepstep.adapters.kube_shelf import Change
from keepstep.contracts.ids import IncidentId, NodeName
from keepstep.ports.cluster import CordonMark, NodeStatus
from keepstep.runtime.tasks import end
from tests.kube.cluster import cluster
from tests.kube.server import kinds

AT = datetime(2026, 1, 1, tzinfo=UTC)
OURS = CordonMark("keepstep", "3 Xid 79 in 60 s, limit 2", AT, IncidentId("abc"))
NPU = "Ascend910-3"


def uncordoned_by_hand(found: dict[str, Any]) -> None:
    found["spec"]["taints"] = [{"key": ISOLATED, "value": "fault", "effect": "NoSchedule"}]


async def test_a_cordon_outlasts_the_list_that_is_taken_in_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list, read before, was told after it; so a guard counted a node that was out as one that was not."""
    async with cluster(tmp_path) as there:
        for name in ("n1", "n2"):
            there.node(name)
        there.store.edit(kinds.NODE, "n1", "", uncordoned_by_hand, manager="ops")
        cache = Cache(there.client, NODES, node_of, rhythm=there.rhythm)
        fleet, edit = KubeFleet(there.client, cache, now=lambda: AT), there.client.edit

        async def meanwhile(
            ref: ObjectRef, change: Callable[[JsonObject], JsonObject | None], *, why: str
        ) -> JsonObject:
            monkeypatch.setattr(there.client, "edit", edit)
            await fleet.cordon(NodeName("n2"), OURS)
            return await edit(ref, change, why=why)

        monkeypatch.setattr(there.client, "edit", meanwhile)
        following = asyncio.create_task(fleet.follow())
        try:
            census = await asyncio.wait_for(fleet.census(), 20)
            assert census.nodes[NodeName("n2")].mark == OURS
            assert census.marked == {"n2"}
        finally:
            await end([following])


class Lists(Cache[Separated]):
    """ConfigMaps as two lists tell them, one after the other, and what is written before the second is told."""

    first: tuple[Separated, ...] = ()
    then: tuple[Separated, ...] = ()
    written: Separated | None = None

    async def changes(self) -> AsyncIterator[Change[Separated]]:
        """Yield what differs, list by list."""
        self._following = True
        for listed in (self.first, self.then):
            read = self._shelf.replace(listed)
            if listed is self.then and self.written is not None:
                self._shelf.put(self.written)
            for change in read:
                yield change
        self._listed.set()


def info(uid: str, version: int, *devices: str) -> Separated:
    return Separated(ObjectUid(uid), str(version), NodeName("n1"), frozenset(devices))


async def seen(folder: Path, first: Separated, then: Separated, *, written: Separated | None = None) -> NodeStatus:
    """Return n1, whose annotation withholds a device, as it is once both lists are taken in."""
    async with cluster(folder) as there:
        there.node("n1")
        notes = {DEVICES: json.dumps({NPU: {"by": "keepstep", "because": "broken"}})}
        there.store.patch(kinds.NODE, "n1", {"metadata": {"annotations": notes}})
        maps = Lists(there.client, CONFIG_MAPS, separated_of, namespace=SYSTEM)
        maps.first, maps.then, maps.written = (first,), (then,), written
        nodes = Cache(there.client, NODES, node_of, rhythm=there.rhythm)
        fleet = KubeFleet(there.client, nodes, separated=maps, now=lambda: AT)
        following = asyncio.create_task(fleet.follow())
        try:
            return (await asyncio.wait_for(fleet.census(), 20)).nodes[NodeName("n1")]
        finally:
            await end([following])


async def test_a_configmap_that_was_made_anew_is_not_taken_for_gone(tmp_path: Path) -> None:
    """The list told the new one, then the end of the old one, by the same name: the node's devices were nobody's."""
    assert (await seen(tmp_path, info("old", 1), info("new", 2))).withholds


async def test_a_device_that_was_put_on_the_list_meanwhile_is_withheld(tmp_path: Path) -> None:
    """What the list brought, read before, was told after the write."""
    status = await seen(tmp_path, info("a", 1), info("a", 2), written=info("a", 3, NPU))
    assert [one.device for one in status.withheld] == [NPU]
