"""Cordons on a real API: both halves at once, foreign ones untouched, and a person's uncordon respected."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_node import Node, node_of
from keepstep.adapters.kube_resources import NODES
from keepstep.contracts.ids import IncidentId, NodeName
from keepstep.ports.cluster import CordonMark, Fleet, NodeStatus
from keepstep.ports.errors import Permanent, Transient
from tests.kube.api import Api
from tests.kube.cluster import until
from tests.kube.server import kinds

pytestmark = pytest.mark.any_api

AT = datetime(2026, 1, 1, tzinfo=UTC)
OURS = CordonMark("keepstep", "3 Xid 79 in 60 s, limit 2", AT, IncidentId("abc"))
THEIRS = CordonMark("ops", "disk is being replaced", AT)


@dataclass
class Rig:
    there: Api
    fleet: Fleet
    n1: NodeName
    n2: NodeName
    cache: Cache[Node]

    async def node(self) -> NodeStatus:
        return next(one for one in await self.fleet.nodes() if one.name == self.n1)

    async def stored(self) -> dict[str, Any]:
        return await self.there.admin.get(kinds.NODE, self.n1)

    async def patch(self, spec: dict[str, Any]) -> None:
        await self.there.admin.patch(kinds.NODE, self.n1, {"spec": spec})

    async def taints(self) -> list[str]:
        """Return the taints that no controller of the cluster sets by itself."""
        found = (await self.stored())["spec"].get("taints", ())
        return [taint["key"] for taint in found if not taint["key"].startswith("node.kubernetes.io/")]

    async def notes(self) -> dict[str, str]:
        notes = (await self.stored())["metadata"].get("annotations", {})
        return {name: said for name, said in notes.items() if name.startswith("keepstep.io/")}

    @property
    def taken(self) -> list[str]:
        """Why each write was made that the server took; a lost race with another writer is tried again."""
        return [write.why for write in self.there.writes if not write.refused]


@pytest.fixture
async def rig(there: Api) -> AsyncIterator[Rig]:
    n1, n2 = NodeName(there.named("n1")), NodeName(there.named("n2"))
    for name in ("n1", "n2"):
        await there.node(name)
    cache = Cache(there.client, NODES, node_of, selector=there.nodes, rhythm=there.rhythm)
    fleet = KubeFleet(there.client, cache, now=lambda: AT)
    task = asyncio.create_task(fleet.follow())
    try:
        yield Rig(there, fleet, n1, n2, cache)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_nodes_are_listed(rig: Rig) -> None:
    one, two = sorted(await rig.fleet.nodes(), key=lambda node: node.name)
    assert one == NodeStatus(rig.n1, ready=True)
    assert two == NodeStatus(rig.n2, ready=True)


async def test_a_look_makes_only_the_nodes_that_turned_anew(rig: Rig) -> None:
    """With 10,000 nodes and 200 of them out, looks at the fleet are what the isolator spends its time on."""
    before = {one.name: one for one in await rig.fleet.nodes()}
    await rig.fleet.cordon(rig.n1, OURS)
    after = {one.name: one for one in await rig.fleet.nodes()}
    assert after[rig.n2] is before[rig.n2]
    assert (before[rig.n1].mark, after[rig.n1].mark) == (None, OURS)


async def test_a_cordon_sets_flag_taint_and_reasons_in_one_write(rig: Rig) -> None:
    await rig.fleet.cordon(rig.n1, OURS)
    assert (await rig.node()).mark == OURS
    assert (await rig.stored())["spec"]["unschedulable"] is True
    assert "keepstep.io/isolated" in await rig.taints()
    assert (await rig.notes())["keepstep.io/isolated-because"] == OURS.reason
    assert len(rig.taken) == 1


async def test_a_cordon_again_writes_nothing(rig: Rig) -> None:
    await rig.fleet.cordon(rig.n1, OURS)
    await rig.fleet.cordon(rig.n1, OURS)
    assert len(rig.taken) == 1


async def test_a_release_takes_all_of_ours_off_and_leaves_the_taints_of_others(rig: Rig) -> None:
    await rig.patch({"taints": [{"key": "ops/keep", "effect": "NoSchedule"}]})
    await rig.fleet.cordon(rig.n1, OURS)
    await rig.fleet.uncordon(rig.n1, owner="keepstep")
    assert (await rig.node()).mark is None
    assert "unschedulable" not in (await rig.stored())["spec"]
    assert await rig.taints() == ["ops/keep"]
    assert await rig.notes() == {}
    writes = len(rig.taken)
    await rig.fleet.uncordon(rig.n1, owner="keepstep")
    assert len(rig.taken) == writes


async def test_a_foreign_cordon_stays(rig: Rig) -> None:
    await rig.fleet.cordon(rig.n1, THEIRS)
    with pytest.raises(Permanent, match="cordoned by ops"):
        await rig.fleet.cordon(rig.n1, OURS)
    with pytest.raises(Permanent, match="ask them to release it"):
        await rig.fleet.uncordon(rig.n1, owner="keepstep")
    assert (await rig.node()).mark == THEIRS


async def test_a_cordon_by_kubectl_is_foreign_too(rig: Rig) -> None:
    await rig.patch({"unschedulable": True})
    with pytest.raises(Permanent, match="cordoned outside keepstep"):
        await rig.fleet.cordon(rig.n1, OURS)
    assert "keepstep.io/isolated" not in await rig.taints()


async def test_whoever_uncordons_by_hand_is_respected_and_recorded(rig: Rig) -> None:
    """Its flag alone is cleared by kubectl uncordon; our taint would keep pods off for ever."""
    await rig.fleet.cordon(rig.n1, OURS)
    await rig.patch({"unschedulable": None})
    await until(lambda: rig.taken[-1:] == ["somebody uncordoned it by hand"])
    assert "keepstep.io/isolated" not in await rig.taints()
    assert (await rig.node()).mark is None
    assert await rig.notes() == {"keepstep.io/released-by-hand-at": AT.isoformat()}
    await rig.fleet.cordon(rig.n1, OURS)
    assert "keepstep.io/released-by-hand-at" not in await rig.notes()


async def test_an_unknown_node_cannot_be_cordoned(rig: Rig) -> None:
    await rig.fleet.nodes()
    with pytest.raises(Permanent, match="nowhere is none of the 2 nodes"):
        await rig.fleet.cordon(NodeName("nowhere"), OURS)


async def test_nothing_is_told_of_nodes_that_nobody_follows_now(rig: Rig) -> None:
    await rig.fleet.nodes()
    await rig.there.down()
    await until(lambda: not rig.cache.following)  # a watch that ended in order is first asked for again
    with pytest.raises(Transient):
        await rig.fleet.nodes()
    await rig.there.up()
    await until(lambda: rig.there.gate.watching > 0)
    assert (await rig.node()).mark is None


async def test_a_cluster_that_cannot_be_reached_is_tried_again_later(rig: Rig) -> None:
    await rig.there.down()
    with pytest.raises(Transient):
        await rig.fleet.cordon(rig.n1, OURS)
