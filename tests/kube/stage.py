"""A job of keepstep's on a test cluster in real time, and the scheduler-adapter's two hands on it.

The controllers are the same as in virtual time; only their long waits are short.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_cache import Rhythm
from keepstep.adapters.kube_client import Audit, KubeClient
from keepstep.adapters.kube_connect import connect
from keepstep.adapters.kube_controllers import KubeControllers
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import JOB_LABEL, SPEC, TASK
from keepstep.adapters.kube_restart import Restarts
from keepstep.adapters.kube_sight import Sight
from keepstep.adapters.kube_view import JobView
from keepstep.adapters.kube_workloads import KubeWorkloads
from keepstep.contracts.ids import IncidentId, NodeName, Pool, task_uid
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import Command, JobRef, JobSpec, TaskLaunch, TaskRef
from keepstep.ports.controllers import Found, RestartOrder, RestartReport
from keepstep.ports.errors import Transient
from tests.kube.cluster import LIMIT_S, Cluster, cluster
from tests.kube.controllers.cluster import Cluster as Controlled
from tests.kube.controllers.nodes import NodeTimes
from tests.kube.controllers.plane import Pace, Plane
from tests.kube.kubelet import VirtualKubelet
from tests.kube.replay.bench import node as node_object
from tests.kube.replay.bench import runtime
from tests.kube.server import kinds
from tests.kube.server.store import Event
from tests.kube.shown import STORED
from tests.kube.specs import injected
from tests.kube.told import Told

FAST = Pace(  # a node is lost after 4 s: on a busy machine a kubelet of the double may be late by two
    nodes=NodeTimes(
        monitor_period=timedelta(seconds=0.2),
        monitor_grace=timedelta(seconds=4),
        evictions_apart=timedelta(seconds=0.2),
        collection_period=timedelta(seconds=0.5),
        quarantine=timedelta(seconds=0.5),
    ),
    session=timedelta(seconds=0.1),
    backoff=timedelta(seconds=0.5),
    batch=timedelta(seconds=0.1),
)


async def _soon(pause: timedelta) -> None:
    await asyncio.sleep(min(pause.total_seconds(), 0.1))


BRISK = Rhythm(sleep=_soon, jitter=lambda: 0.0)
NOWHERE: frozenset[NodeName] = frozenset()
JOB_SPEC = JobSpec(name="j", entrypoint=Command(argv=("train",)), nodes=2, nproc=2)


@dataclass
class Hands:
    """One activation of the scheduler-adapter on the cluster."""

    sight: Sight
    workloads: KubeWorkloads
    controllers: KubeControllers


@dataclass
class Stage:
    """A cluster of four nodes with controllers, and what the agents were told."""

    there: Cluster
    plane: Plane
    kubelet: VirtualKubelet
    folder: Path
    told: Told = field(default_factory=Told)
    born: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.there.store.listen(self._note)

    def _note(self, change: Event) -> None:
        if change.kind is kinds.POD:
            self.born[change.object["metadata"]["uid"]] = None

    def submit(
        self, kind: JobKind, *, restart: str = "Never", owners: Sequence[dict[str, Any]] = (), **changes: Any
    ) -> None:
        """Create a job of two pods that asks for keepstep."""
        notes, labels = {SPEC: JOB_SPEC.model_dump_json()}, {JOB_LABEL: "j"}
        body = {
            "metadata": {"name": "j", "labels": labels, "annotations": notes, "ownerReferences": [*owners]},
            "spec": {**injected(kind, restart), **changes},
        }
        self.there.store.create(STORED[kind], body, "default")

    def objects(self, kind: kinds.Kind) -> list[dict[str, Any]]:
        return self.there.store.list(kind, "default")

    def pods(self) -> dict[str, dict[str, Any]]:
        """Return the pods that are not on their way out, by name."""
        live = (one for one in self.objects(kinds.POD) if "deletionTimestamp" not in one["metadata"])
        return {one["metadata"]["name"]: one for one in live}

    def uids(self) -> set[str]:
        return {one["metadata"]["uid"] for one in self.pods().values()}

    def tasks(self) -> dict[str, str]:
        """Return the tasks that live pods are bound to, by name of the pod."""
        return {
            name: one["metadata"]["annotations"][TASK]
            for name, one in self.pods().items()
            if TASK in one["metadata"].get("annotations", {})
        }

    def view(self, hands: Hands, job: JobRef) -> JobView:
        """Return the job as the hands see it."""
        top = hands.sight.job(job.uid)
        assert top is not None
        return hands.sight.view(top)

    def made(self) -> list[str]:
        """Return the uids of all pods that ever were, in the order in which they were made."""
        return list(self.born)

    @asynccontextmanager
    async def hands(self, audit: Audit | None = None, *, namespaces: Sequence[str] = ()) -> AsyncIterator[Hands]:
        """Be active for the block, in these namespaces; ``audit`` is told of each write and may end it there."""
        config = self.there.server.kubeconfig(self.folder / "hands")
        client = KubeClient(connect(config), audit=audit or self.there.writes.append)
        sight = Sight(client, namespaces=namespaces, rhythm=BRISK)
        restarts = Restarts(sight, now=SystemClock().now)
        following = asyncio.create_task(sight.follow())
        try:
            yield Hands(
                sight,
                KubeWorkloads(sight, restarts, self.told),
                KubeControllers(sight, restarts, now=SystemClock().now),
            )
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            await client.close()


@asynccontextmanager
async def stage(folder: Path, nodes: Sequence[str] = ("n0", "n1", "n2", "n3")) -> AsyncIterator[Stage]:
    """Run the controllers along the clock for the block."""
    async with cluster(folder) as there:
        store = there.store
        controlled = Controlled(store)
        kubelet = VirtualKubelet(controlled, renewal=timedelta(seconds=0.3))
        plane = Plane(store, [kubelet], pace=FAST, cluster=controlled)
        store.create(kinds.CLUSTER_TRAINING_RUNTIME, runtime("torch-distributed"))
        for name in nodes:
            store.create(kinds.NODE, node_object(name, "default", datetime.now(UTC)))
        running = asyncio.create_task(plane.run())
        try:
            yield Stage(there, plane, kubelet, folder)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def found(hands: Hands) -> Found:
    """Return the job as soon as it is found."""
    async with asyncio.timeout(LIMIT_S):
        async for said in hands.controllers.sightings():
            if isinstance(said, Found):
                return said
    raise AssertionError("the sightings ended")


def launches(job: JobRef, *, incarnation: int = 1, indexes: tuple[int, ...] = (0, 1)) -> list[TaskLaunch]:
    """Return the launches of the job's tasks."""
    names = {index: f"worker-{index}" for index in indexes}
    return [
        TaskLaunch(
            pool=Pool("p"),
            job=job,
            task=TaskRef(name=name, uid=task_uid(job.uid, name, incarnation), index=index),
            spec=JOB_SPEC,
        )
        for index, name in names.items()
    ]


async def placed(hands: Hands) -> Found:
    """Find the job and bind its tasks."""
    job = await found(hands)
    await hands.workloads.create(launches(job.job), avoid=NOWHERE)
    return job


def order(job: JobRef, level: Level, *lost: TaskLaunch, name: str = "r1", **known: Any) -> RestartOrder:
    """Return the order to restart these tasks."""
    uids = frozenset(launch.task.uid for launch in lost)
    return RestartOrder(name, job.uid, IncidentId("incident"), level, uids, **known)


async def pursue(
    hands: Hands, wanted: RestartOrder, *, met: Callable[[RestartReport], bool] | None = None
) -> RestartReport:
    """Pursue a restart until it is done, or its report says what is waited for; outages are waited out."""
    last = "nothing"
    try:
        async with asyncio.timeout(LIMIT_S):
            while True:
                try:
                    report = await hands.controllers.restart(wanted)
                    if report.done or (met is not None and met(report)):
                        return report
                    last = report.because
                except Transient as later:
                    last = str(later)
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not done within {LIMIT_S} s: {last}") from None
