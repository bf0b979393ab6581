"""A list of nodes that is still being taken in: what was written meanwhile is newer than what it tells."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_node import ISOLATED, node_of
from keepstep.adapters.kube_objects import ObjectRef
from keepstep.adapters.kube_resources import NODES
from keepstep.contracts.ids import IncidentId, NodeName
from keepstep.ports.cluster import CordonMark
from keepstep.runtime.tasks import end
from tests.kube.cluster import cluster
from tests.kube.server import kinds

AT = datetime(2026, 1, 1, tzinfo=UTC)
OURS = CordonMark("keepstep", "3 Xid 79 in 60 s, limit 2", AT, IncidentId("abc"))


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
