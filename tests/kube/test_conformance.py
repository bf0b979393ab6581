"""A Kubernetes cluster passes the suite of all clusters: its scheduler places, and job controllers make the pods."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_marks import JOB_LABEL, SPEC, TASK
from keepstep.adapters.kube_node import OUT_OF_SERVICE, node_of
from keepstep.adapters.kube_resources import NODES
from keepstep.adapters.kube_workloads import KubeWorkloads
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import CordonMark, NodeStatus, TaskStatus
from keepstep.ports.errors import Transient
from tests.adapters.cluster_suite import ClusterSuite
from tests.adapters.cluster_tools import launches
from tests.kube.api import eventually
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.stage import BRISK, JOB_SPEC, Stage, stage
from tests.kube.test_plans_work import GPU

NAMES = ("n1", "n2", "n3")
OFF = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
"""Who sets it vouches for the node's being off: a silent node alone proves nothing about its processes."""


@dataclass(frozen=True)
class KubeCluster:
    """Both ports as one, as the suite asks them."""

    fleet: KubeFleet
    workloads: KubeWorkloads

    async def nodes(self) -> tuple[NodeStatus, ...]:
        return await self.fleet.nodes()

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        await self.fleet.cordon(node, mark)

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        await self.fleet.uncordon(node, owner=owner)

    async def tasks(self, job: JobUid | None = None) -> tuple[TaskStatus, ...]:
        return await self.workloads.tasks(job)

    async def create(self, launches: Sequence[TaskLaunch], *, avoid: frozenset[NodeName]) -> None:
        await self.workloads.create(launches, avoid=avoid)

    async def delete(self, task: TaskUid, *, grace: timedelta) -> None:
        await self.workloads.delete(task, grace=grace)

    def watch(self) -> AsyncIterator[TaskStatus]:
        return self.workloads.watch()

    def supports(self) -> frozenset[Level]:
        return self.workloads.supports()


class KubeWorld:
    """Three nodes of the double, and what a cluster's own people and machines do to it."""

    def __init__(self, there: Stage, cluster: KubeCluster) -> None:
        self.cluster = cluster
        self._there, self._store, self._numbers = there, there.there.store, count(1)

    async def job(self, nodes: int = 1) -> list[TaskLaunch]:
        """Submit an indexed Job of this many pods."""
        name = f"suite-{next(self._numbers)}"
        spec = JOB_SPEC.model_copy(update={"name": name, "nodes": nodes})
        container = {"name": "main", "image": "t:1", "resources": GPU}
        template = {
            "metadata": {"labels": {JOB_LABEL: name}},
            "spec": {"containers": [container], "restartPolicy": "Never"},
        }
        meta = {"name": name, "labels": {JOB_LABEL: name}, "annotations": {SPEC: spec.model_dump_json()}}
        work = {"completionMode": "Indexed", "completions": nodes, "parallelism": nodes, "backoffLimit": 100}
        made = self._store.create(kinds.JOB, {"metadata": meta, "spec": {**work, "template": template}}, "default")
        return launches(nodes, job=JobUid(made["metadata"]["uid"]))

    async def lose(self, node: NodeName) -> None:
        """Switch a node off: it falls silent, is found out, and its administrator says so."""
        self._there.kubelet.lose(node)
        await eventually(lambda: self._is(node, ready=False))
        self._taint(node, OFF)

    async def revive(self, node: NodeName) -> None:
        """Switch it on."""
        self._taint(node)
        self._there.kubelet.find_again(node)
        await eventually(lambda: self._is(node, ready=True))

    async def crash(self, task: TaskUid) -> None:
        """Let the container of the task's pod end with an error."""
        (pod,) = (one for one in self._there.objects(kinds.POD) if _task(one) == task)
        notes = {"fake.kubelet/exit-code": "1"}
        self._store.patch(kinds.POD, pod["metadata"]["name"], {"metadata": {"annotations": notes}}, "default")

    async def _is(self, node: NodeName, *, ready: bool) -> bool:
        try:
            return any(one.name == node and one.ready is ready for one in await self.cluster.nodes())
        except Transient:
            return False  # the watch is not heard yet, which every caller meets by asking again

    def _taint(self, node: NodeName, *taints: dict[str, Any]) -> None:
        def change(source: dict[str, Any]) -> None:
            kept = [one for one in source["spec"].get("taints", ()) if one["key"] != OUT_OF_SERVICE]
            source["spec"]["taints"] = [*kept, *taints]

        self._store.edit(kinds.NODE, node, "", change)


def _task(pod: dict[str, Any]) -> str | None:
    found: str | None = pod["metadata"].get("annotations", {}).get(TASK)
    return found


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[KubeWorld]:
    async with stage(tmp_path, NAMES) as there, there.hands() as hands:
        nodes = Cache(there.there.client, NODES, node_of, rhythm=BRISK)
        fleet = KubeFleet(there.there.client, nodes, now=SystemClock().now)
        following = asyncio.create_task(fleet.follow())
        await until(lambda: len(nodes.items) == len(NAMES))
        try:
            yield KubeWorld(there, KubeCluster(fleet, hands.workloads))
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


class TestKubernetesCluster(ClusterSuite):
    """The suite, run on Kubernetes."""
