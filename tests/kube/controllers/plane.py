"""All controllers of a cluster over one store, wired once: for virtual time, and along a real clock."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from ..server.store import Store
from . import job, job_backoff, pytorchjob, scheduler
from .budget import DisruptionController
from .cluster import Cluster
from .collector import PodCollector
from .garbage import Garbage
from .jobset import JobSetController
from .loop import ROUND_TRIP, Controller, Loop
from .nodes import TICK, NodeLifecycle, NodeTimes
from .taints import TaintEviction
from .trainjob import TrainJobController
from .volcano import VolcanoController
from .volcano_scheduler import VolcanoScheduler

_REACTION = timedelta(milliseconds=5)


@dataclass(frozen=True)
class Chance:
    """What is chance in the real controllers: a replay gives what chance gave there."""

    node: scheduler.Choose = scheduler.first
    roles: pytorchjob.Order = pytorchjob.by_role
    indexes: job_backoff.Order = job_backoff.by_index


@dataclass(frozen=True)
class Pace:
    """How fast things go; a test in real time makes the long waits short."""

    nodes: NodeTimes = field(default_factory=NodeTimes)
    session: timedelta = timedelta(seconds=1)
    round_trip: timedelta = ROUND_TRIP
    backoff: timedelta = timedelta(seconds=10)
    batch: timedelta = timedelta(seconds=1)
    pytorch_lag: timedelta = _REACTION
    faster: float = 1.0
    """Divides what pods themselves ask for: the seconds of tolerations."""


class Plane:
    """The controllers and the loop that drives them; ``kubelets`` are controllers too."""

    def __init__(
        self,
        store: Store,
        kubelets: Sequence[Controller] = (),
        *,
        pace: Pace = Pace(),
        chance: Chance = Chance(),
        cluster: Cluster | None = None,
    ) -> None:
        self.cluster = cluster if cluster is not None else Cluster(store)
        self.nodes = NodeLifecycle(self.cluster, pace.nodes)
        collector = PodCollector(self.cluster, pace.nodes)
        sessions = VolcanoScheduler(self.cluster, chance.node, pace.session)
        self.controllers: list[Controller] = [
            *kubelets,
            self.nodes,
            TaintEviction(self.cluster, pace.faster),
            collector,
            scheduler.Scheduler(self.cluster, chance.node),
            Garbage(self.cluster),
            DisruptionController(self.cluster),
            job.JobController(self.cluster, chance.indexes, backoff=pace.backoff, batch=pace.batch),
            VolcanoController(self.cluster),
            sessions,
            JobSetController(self.cluster),
            TrainJobController(self.cluster),
            pytorchjob.PyTorchJobController(self.cluster, chance.roles, pace.pytorch_lag),
        ]
        self.loop = Loop(self.cluster, self.controllers, pace.round_trip)
        self._ticking: list[Controller] = [self.nodes, collector, sessions]

    def start(self) -> None:
        """Queue the first ticks."""
        self.loop.start(*((controller, TICK) for controller in self._ticking))

    async def run(self) -> None:
        """Run along the store's clock until cancelled."""
        self.start()
        await self.loop.run()
