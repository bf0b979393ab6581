"""Cordons on a real API: both halves at once, foreign ones untouched, and a person's uncordon respected."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_node import node_of
from keepstep.adapters.kube_resources import NODES
from keepstep.contracts.ids import IncidentId, NodeName, TaskUid
from keepstep.ports.cluster import CordonMark, Fleet, NodeStatus
from keepstep.ports.errors import Permanent, Transient
from tests.kube.cluster import Cluster, cluster, until
from tests.kube.server import kinds

AT = datetime(2026, 1, 1, tzinfo=UTC)
OURS = CordonMark("keepstep", "3 Xid 79 in 60 s, limit 2", AT, IncidentId("abc"))
THEIRS = CordonMark("ops", "disk is being replaced", AT)
N1 = NodeName("n1")


@dataclass
class Rig:
    there: Cluster
    fleet: Fleet

    async def node(self, name: str = "n1") -> NodeStatus:
        return next(one for one in await self.fleet.nodes() if one.name == name)

    def stored(self, name: str = "n1") -> dict[str, Any]:
        return self.there.store.get(kinds.NODE, name)

    def patch(self, spec: dict[str, Any], name: str = "n1") -> None:
        self.there.store.patch(kinds.NODE, name, {"spec": spec})

    def taints(self) -> list[str]:
        return [taint["key"] for taint in self.stored()["spec"].get("taints", ())]

    def notes(self) -> dict[str, str]:
        notes = self.stored()["metadata"].get("annotations", {})
        return {name: said for name, said in notes.items() if name.startswith("keepstep.io/")}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with cluster(tmp_path) as there:
        for name in ("n1", "n2"):
            there.node(name)
        cache = Cache(there.client, NODES, node_of, rhythm=there.rhythm)
        fleet = KubeFleet(there.client, cache, tasks=lambda: {N1: (TaskUid("t"),)}, now=lambda: AT)
        task = asyncio.create_task(fleet.follow())
        try:
            yield Rig(there, fleet)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_nodes_are_listed_with_what_runs_there(rig: Rig) -> None:
    assert await rig.node() == NodeStatus(N1, ready=True, tasks=(TaskUid("t"),))
    assert await rig.node("n2") == NodeStatus(NodeName("n2"), ready=True)


async def test_a_cordon_sets_flag_taint_and_reasons_in_one_write(rig: Rig) -> None:
    await rig.fleet.cordon(N1, OURS)
    assert (await rig.node()).mark == OURS
    assert rig.stored()["spec"]["unschedulable"] is True
    assert "keepstep.io/isolated" in rig.taints()
    assert rig.notes()["keepstep.io/isolated-because"] == OURS.reason
    assert len(rig.there.writes) == 1


async def test_a_cordon_again_writes_nothing(rig: Rig) -> None:
    await rig.fleet.cordon(N1, OURS)
    await rig.fleet.cordon(N1, OURS)
    assert len(rig.there.writes) == 1


async def test_a_release_takes_all_of_ours_off_and_leaves_the_taints_of_others(rig: Rig) -> None:
    rig.patch({"taints": [{"key": "ops/keep", "effect": "NoSchedule"}]})
    await rig.fleet.cordon(N1, OURS)
    await rig.fleet.uncordon(N1, owner="keepstep")
    assert (await rig.node()).mark is None
    assert "unschedulable" not in rig.stored()["spec"]
    assert rig.taints() == ["ops/keep"]
    assert rig.notes() == {}
    writes = len(rig.there.writes)
    await rig.fleet.uncordon(N1, owner="keepstep")
    assert len(rig.there.writes) == writes


async def test_a_foreign_cordon_stays(rig: Rig) -> None:
    await rig.fleet.cordon(N1, THEIRS)
    with pytest.raises(Permanent, match="cordoned by ops"):
        await rig.fleet.cordon(N1, OURS)
    with pytest.raises(Permanent, match="ask them to release it"):
        await rig.fleet.uncordon(N1, owner="keepstep")
    assert (await rig.node()).mark == THEIRS


async def test_a_cordon_by_kubectl_is_foreign_too(rig: Rig) -> None:
    rig.patch({"unschedulable": True})
    with pytest.raises(Permanent, match="cordoned outside keepstep"):
        await rig.fleet.cordon(N1, OURS)
    assert "keepstep.io/isolated" not in rig.taints()


async def test_whoever_uncordons_by_hand_is_respected_and_recorded(rig: Rig) -> None:
    """Its flag alone is cleared by kubectl uncordon; our taint would keep pods off for ever."""
    await rig.fleet.cordon(N1, OURS)
    rig.patch({"unschedulable": None})
    await until(lambda: rig.there.writes[-1].why == "somebody uncordoned it by hand")
    assert "keepstep.io/isolated" not in rig.taints()
    assert (await rig.node()).mark is None
    assert rig.notes() == {"keepstep.io/released-by-hand-at": AT.isoformat()}
    await rig.fleet.cordon(N1, OURS)
    assert "keepstep.io/released-by-hand-at" not in rig.notes()


async def test_an_unknown_node_cannot_be_cordoned(rig: Rig) -> None:
    await rig.fleet.nodes()
    with pytest.raises(Permanent, match="nowhere is none of the 2 nodes"):
        await rig.fleet.cordon(NodeName("nowhere"), OURS)


async def test_a_cluster_that_cannot_be_reached_is_tried_again_later(rig: Rig) -> None:
    await rig.there.server.down()
    with pytest.raises(Transient):
        await rig.fleet.cordon(N1, OURS)
