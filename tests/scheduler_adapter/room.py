"""The hand of the scheduler-adapter with all that it touches, in memory: plan board, cluster, clock."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.bindings import Bindings
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.ports.errors import NoRoom, Transient
from keepstep.runtime.service import Context
from keepstep.runtime.telemetry import Telemetry
from keepstep.scheduler_adapter.core import JobState
from keepstep.scheduler_adapter.hand import Hand
from keepstep.scheduler_adapter.settings import Settings
from tests.scheduler_adapter.voices import JOB


class Board:
    """A plan board in memory that counts writes."""

    def __init__(self) -> None:
        self.heads: dict[JobUid, PlanHead] = {}
        self.entries: dict[tuple[JobUid, TaskUid], PlanEntry] = {}
        self.garbled: set[tuple[JobUid, TaskUid]] = set()
        self.writes = 0

    async def publish(self, head: PlanHead, entries: Sequence[PlanEntry] = (), *, again: bool = False) -> None:
        known = self.heads.get(head.job)
        if known is not None and (known.place > head.place or (known.digest == head.digest and not again)):
            return
        self.heads[head.job] = head
        self.entries |= {(entry.job, entry.task): entry for entry in entries}
        self.garbled -= {(entry.job, entry.task) for entry in entries}
        self.writes += 1

    async def read(self, job: JobUid) -> PlanHead | None:
        return self.heads.get(job)

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        if (job, task) in self.garbled:
            raise Transient("cannot be read")
        return self.entries.get((job, task))

    async def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        if job in self.heads:
            yield self.heads[job]

    async def remove(self, job: JobUid) -> None:
        self.heads.pop(job, None)


@dataclass
class Cluster:
    """A cluster in memory: nodes with room for one task each."""

    free: list[str] = field(default_factory=lambda: ["n1", "n2"])
    known: dict[TaskUid, TaskStatus] = field(default_factory=dict)
    changes: "asyncio.Queue[TaskStatus]" = field(default_factory=asyncio.Queue)
    stubborn: bool = False
    graces: list[timedelta] = field(default_factory=list)

    async def tasks(self, job: JobUid | None = None) -> tuple[TaskStatus, ...]:
        return tuple(status for status in self.known.values() if job in (None, status.job))

    async def create(self, launches: Sequence[TaskLaunch], *, avoid: frozenset[NodeName]) -> None:
        missing = [launch for launch in launches if launch.task.uid not in self.known]
        room = [node for node in self.free if node not in avoid]
        if len(room) < len(missing):
            raise NoRoom(f"needs {len(missing)} nodes, {len(room)} free")
        for launch, node in zip(missing, room, strict=False):
            self.free.remove(node)
            self.known[launch.task.uid] = TaskStatus(
                job=launch.job.uid, ref=launch.task, phase=TaskPhase.RUNNING, node=NodeName(node)
            )

    async def delete(self, task: TaskUid, *, grace: timedelta) -> None:
        self.graces.append(grace)
        if task in self.known and not self.stubborn:
            self.known[task] = gone(self.known[task])

    def watch(self) -> AsyncIterator[TaskStatus]:
        return self._watch()

    async def _watch(self) -> AsyncIterator[TaskStatus]:
        while True:
            yield await self.changes.get()

    def supports(self) -> frozenset[Level]:
        return frozenset(Level)


class Now:
    """A clock that stands still."""

    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


def gone(status: TaskStatus, *, proven: bool = True) -> TaskStatus:
    return TaskStatus(
        job=status.job,
        ref=status.ref,
        phase=TaskPhase.GONE,
        node=status.node,
        by=LossCause.DELETED,
        proven=proven,
    )


class Room:
    """The hand with everything it touches."""

    def __init__(self, state: JobState | None = None) -> None:
        self.said: list[Message] = []
        self.heard = asyncio.Event()
        self.board, self.cluster = Board(), Cluster()
        self.state = state
        self.context: Context[JobState] = Context(
            pool=Pool("p"),
            clock=Now(),
            plans=self.board,
            telemetry=cast("Telemetry", None),
            say=self.say,
            folds=lambda: {JOB.uid: self.state} if self.state else {},
            bindings=cast("Bindings", None),
        )
        pace = Settings(
            room_every=timedelta(milliseconds=1),
            gone_every=timedelta(milliseconds=1),
            hold_every=timedelta(milliseconds=1),
        )
        self.hand = Hand(self.cluster, self.context, pace)

    async def say(self, message: Message) -> None:
        self.said.append(message)
        self.heard.set()
