"""A drain on a real API: budgets are asked, keepstep's own pods and the node's are left, taints come last."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_cordon import cordoned
from keepstep.adapters.kube_evict import KubeEvictions
from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import CordonMark, Stay
from tests.kube.cluster import Cluster, cluster
from tests.kube.server import kinds

N1 = NodeName("n1")
MARK = CordonMark("keepstep", "Xid 79", datetime(2026, 1, 1, tzinfo=UTC))
OWNER = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "cni", "uid": "d1", "controller": True}


@dataclass
class Rig:
    there: Cluster
    evictions: KubeEvictions

    def pod(self, name: str, *, node: str = "n1", phase: str = "Running", **meta: Any) -> None:
        body = {"metadata": {"name": name, **meta}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        self.there.store.create(kinds.POD, body | {"spec": body["spec"] | {"nodeName": node}}, "default")
        status = {"phase": phase, "conditions": [{"type": "Ready", "status": "True"}]}
        self.there.store.patch(kinds.POD, name, {"status": status}, "default", subresource="status")

    def budget(self, *, allowed: int, observed: bool = True) -> None:
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        made = self.there.store.create(kinds.PDB, {"metadata": {"name": "web"}, "spec": spec}, "default")
        seen = made["metadata"]["generation"] if observed else 0
        status = {"observedGeneration": seen, "disruptionsAllowed": allowed, "desiredHealthy": 1, "currentHealthy": 1}
        self.there.store.patch(kinds.PDB, "web", {"status": status}, "default", subresource="status")

    async def evict(self) -> tuple[Stay, ...]:
        return await self.evictions.evict(N1, why="drain")

    def taints(self) -> list[tuple[str, str]]:
        found = self.there.store.get(kinds.NODE, "n1")["spec"].get("taints", ())
        return [(one["key"], one["effect"]) for one in found]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with cluster(tmp_path) as there:
        there.node("n1")
        there.node("n2")
        yield Rig(there, KubeEvictions(there.client))


def names(stays: tuple[Stay, ...]) -> list[str]:
    return sorted(one.pod for one in stays)


async def test_only_what_may_leave_is_asked_to(rig: Rig) -> None:
    rig.pod("web-0")
    rig.pod("elsewhere", node="n2")
    rig.pod("rank-0", labels={"keepstep.io/job": "train"})
    rig.pod("cni", ownerReferences=[OWNER])
    rig.pod("etcd", annotations={"kubernetes.io/config.mirror": "x"})
    rig.pod("over", phase="Succeeded")
    assert names(await rig.evict()) == ["default/web-0"]
    assert [write.path.rsplit("/", 2)[-2] for write in rig.there.writes] == ["web-0"]


async def test_a_pod_that_ends_is_not_asked_again(rig: Rig) -> None:
    rig.pod("web-0")
    await rig.evict()
    assert [one.why for one in await rig.evict()] == ["ends"]
    assert len(rig.there.writes) == 1


async def test_a_spent_budget_keeps_the_pod_and_says_which(rig: Rig) -> None:
    rig.pod("web-0", labels={"app": "web"})
    rig.budget(allowed=0)
    (stay,) = await rig.evict()
    assert "disruption budget" in stay.why
    assert "deletionTimestamp" not in rig.there.store.get(kinds.POD, "web-0", "default")["metadata"]


async def test_how_long_the_server_asks_to_wait_is_passed_on(rig: Rig) -> None:
    rig.pod("web-0", labels={"app": "web"})
    rig.budget(allowed=0, observed=False)
    (stay,) = await rig.evict()
    assert stay.again == timedelta(seconds=10)


async def test_one_pod_whose_budget_is_spent_does_not_hold_up_the_others(rig: Rig) -> None:
    rig.pod("a-web", labels={"app": "web"})
    rig.pod("b-free")
    rig.budget(allowed=0)
    await rig.evict()
    assert "deletionTimestamp" in rig.there.store.get(kinds.POD, "b-free", "default")["metadata"]


async def test_driving_out_adds_the_taint_that_ends_pods_to_our_own(rig: Rig) -> None:
    rig.there.store.patch(kinds.NODE, "n1", {"spec": {"taints": [{"key": "ops/keep", "effect": "NoSchedule"}]}})
    rig.there.store.patch(kinds.NODE, "n1", cordoned(rig.there.store.get(kinds.NODE, "n1"), MARK))
    await rig.evictions.drive_out(N1, why="drain")
    ours = [("keepstep.io/isolated", effect) for effect in ("NoSchedule", "NoExecute")]
    assert rig.taints() == [("ops/keep", "NoSchedule"), *ours]
    await rig.evictions.drive_out(N1, why="drain")
    assert len(rig.there.writes) == 1


async def test_a_node_that_was_released_meanwhile_is_not_emptied_by_force(rig: Rig) -> None:
    await rig.evictions.drive_out(N1, why="drain")
    assert rig.taints() == []
