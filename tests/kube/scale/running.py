"""A job that has been running for a while: what was said of it, and the fold that it has."""

from dataclasses import dataclass
from datetime import datetime

from keepstep.contracts.events import JobAccepted, JobStarted, Placed
from keepstep.contracts.ids import EventId, NodeName, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanHead
from keepstep.contracts.taxonomy import PlanPhase
from keepstep.contracts.topology import JobRef, JobSpec, TaskRef
from keepstep.scheduler_adapter.core.state import JobState, Life
from keepstep.scheduler_adapter.core.task import Task

from .layout import Layout
from .planted import POOL, spec_of, task_ref


@dataclass(frozen=True)
class Job:
    """A job that runs: who it is and where its tasks are."""

    ref: JobRef
    spec: JobSpec
    places: tuple[Placed, ...]

    @classmethod
    def of(cls, ref: JobRef, number: int, layout: Layout, *, storm: int) -> "Job":
        """Return the job with this number."""
        spec = spec_of(ref.name, layout, storm=storm)
        tasks = enumerate(task_ref(ref.uid, index) for index in range(layout.tasks))
        places = tuple(
            Placed(
                task=TaskRef(name=name, uid=TaskUid(uid), index=index),
                node=NodeName(layout.node_of(number, index)),
                ranks=spec.ranks_of(index),
            )
            for index, (name, uid) in tasks
        )
        return cls(ref, spec, places)

    def said(self, now: datetime) -> tuple[Message, ...]:
        """Return what the stream has of its life."""
        about = {"time": now, "pool": POOL, "job": self.ref, "generation": 1}
        accepted = JobAccepted(id=EventId(f"accepted-{self.ref.uid}"), **about, spec=self.spec)
        started = JobStarted(id=EventId(f"started-{self.ref.uid}"), **about, placement=self.places)
        return accepted, started

    def state(self, now: datetime) -> JobState:
        """Return what the scheduler-adapter remembers of it."""
        tasks = {
            place.task.name: Task(
                ref=place.task, joined=True, node=place.node, address="192.0.2.1", ran=1, started=1, stepped=1
            )
            for place in self.places
        }
        plan = PlanHead(job=self.ref.uid, generation=1, phase=PlanPhase.RUN, world_size=self.spec.world_size)
        return JobState(
            pool=POOL,
            job=self.ref,
            life=Life.RUNNING,
            since=now,
            spec=self.spec,
            tasks=tasks,
            plan=plan,
            marking=True,
            joined_at=now,
        )
