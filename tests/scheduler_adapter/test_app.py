"""The hand on plan board and cluster looks first, acts if needed, and says what came of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from keepstep.contracts.events import JobHeld, JobWaiting, RecoveryStarted, TaskLost, TaskReleased
from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Level, LossCause, PlanPhase
from keepstep.contracts.topology import TaskLaunch, TaskRef
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.ports.errors import NoRoom, Transient
from keepstep.runtime.service import Context
from keepstep.runtime.telemetry import Telemetry
from keepstep.scheduler_adapter.app import Hand, compare_once, follow_changes
from keepstep.scheduler_adapter.core import JobState, effects
from keepstep.scheduler_adapter.core.forgetting import RemovePlan
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.wants import CreateTasks, DeleteTask, PublishPlan
from keepstep.scheduler_adapter.settings import Settings
from tests.scheduler_adapter.voices import JOB
from tests.scheduler_adapter.world import World


class Board:
    """A plan board in memory that counts writes."""

    def __init__(self) -> None:
        self.heads: dict[JobUid, PlanHead] = {}
        self.entries: dict[tuple[JobUid, TaskUid], PlanEntry] = {}
        self.writes = 0

    async def publish(self, head: PlanHead, entries: Sequence[PlanEntry] = ()) -> None:
        self.heads[head.job] = head
        self.entries |= {(entry.job, entry.task): entry for entry in entries}
        self.writes += 1

    async def read(self, job: JobUid) -> PlanHead | None:
        return self.heads.get(job)

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
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


async def test_a_job_that_comes_while_the_pool_is_paused_is_held() -> None:
    world = World().run()
    room = Room()
    keep = asyncio.create_task(room.hand.do(KeepHeld(pool=Pool("p"), held=True, since=world.now)))
    await asyncio.sleep(0)
    assert room.said == []
    room.state = world.fold
    await asyncio.wait_for(room.heard.wait(), 5)
    keep.cancel()
    assert isinstance(room.said[0], JobHeld)
    assert room.said[0].job == JOB


def creation(world: World) -> CreateTasks:
    return next(effect for effect in effects(world.fold) if isinstance(effect, CreateTasks))


def plan(phase: PlanPhase, generation: int) -> PublishPlan:
    return PublishPlan(head=PlanHead(job=JOB.uid, generation=generation, phase=phase, world_size=4))


async def test_a_plan_that_is_on_the_board_is_not_written_again() -> None:
    room = Room()
    for _ in range(2):
        await room.hand.do(plan(PlanPhase.RUN, 1))
    assert room.board.writes == 1


@pytest.mark.parametrize(("phase", "generation"), [(PlanPhase.RUN, 1), (PlanPhase.STOP, 2), (PlanPhase.END, 1)])
async def test_an_older_plan_never_replaces_a_newer_one(phase: PlanPhase, generation: int) -> None:
    room = Room()
    await room.hand.do(plan(PlanPhase.RUN, 2))
    await room.hand.do(plan(phase, generation))
    head = room.board.heads[JOB.uid]
    assert (head.phase, head.generation) == (PlanPhase.RUN, 2)


async def test_recovery_started_is_said_when_the_stop_plan_is_out() -> None:
    world = World().run()
    event = world.diagnose(answers=False)
    world.hear(world.chosen(event), world.fenced(event))
    room = Room()
    stop = next(effect for effect in effects(world.fold) if isinstance(effect, PublishPlan))
    said = list(await room.hand.do(stop))
    assert [type(message).__name__ for message in said] == ["RecoveryStarted"]
    assert room.board.heads[JOB.uid].phase is PlanPhase.STOP


async def test_tasks_are_created_once() -> None:
    room = Room()
    effect = creation(World(nodes=[]).create())
    for _ in range(2):
        await room.hand.do(effect)
    assert [status.node for status in room.cluster.known.values()] == ["n1", "n2"]


async def test_why_there_is_no_room_is_said_once_and_the_next_free_node_is_taken() -> None:
    room = Room()
    room.cluster.free = ["n1"]
    creating = asyncio.create_task(room.hand.do(creation(World(nodes=[]).create())))
    await asyncio.wait_for(room.heard.wait(), 5)
    room.cluster.free.append("n2")
    await asyncio.wait_for(creating, 5)
    assert [type(message) for message in room.said] == [JobWaiting]
    assert len(room.cluster.known) == 2


async def test_a_node_that_is_rather_not_used_is_used_where_nothing_else_is() -> None:
    room = Room()
    effect = creation(World(nodes=[]).create()).model_copy(update={"rather_not": (NodeName("n1"),)})
    await room.hand.do(effect)
    assert len(room.cluster.known) == 2
    other = Room()
    other.cluster.free = ["n1", "n2", "n3"]
    await other.hand.do(effect)
    assert other.cluster.free == ["n1"]


def deletion(world: World) -> DeleteTask:
    event = world.diagnose(world.verdict(isolate=True), answers=False)
    world.hear(world.chosen(event), world.fenced(event, isolated=False))
    world.hear(*(message for message in world.pending if isinstance(message, RecoveryStarted)))
    return next(effect for effect in effects(world.fold) if isinstance(effect, DeleteTask))


async def test_a_task_is_released_when_the_cluster_shows_it_gone() -> None:
    world = World().run()
    effect = deletion(world)
    room = Room()
    room.cluster.known[effect.ref.uid] = TaskStatus(job=JOB.uid, ref=effect.ref, phase=TaskPhase.RUNNING)
    room.cluster.stubborn = True
    with pytest.raises(Transient, match="on its way out"):
        await room.hand.do(effect)
    room.cluster.stubborn = False
    [said] = await room.hand.do(effect)
    assert isinstance(said, TaskReleased)
    assert said.proven
    assert room.cluster.graces == [world.spec.policy.trainer.stop_grace] * 2


async def test_a_task_the_cluster_does_not_know_is_released_without_proof() -> None:
    [said] = await Room().hand.do(deletion(World().run()))
    assert isinstance(said, TaskReleased)
    assert not said.proven


async def test_the_watch_tells_what_the_cluster_lost() -> None:
    world = World().run()
    room = Room(world.fold)
    status = TaskStatus(job=JOB.uid, ref=world.fold.tasks["worker-1"].ref, phase=TaskPhase.RUNNING)
    following = asyncio.create_task(follow_changes(room.cluster, room.context))
    await room.cluster.changes.put(status)
    await room.cluster.changes.put(gone(status))
    await asyncio.wait_for(room.heard.wait(), 5)
    following.cancel()
    assert [type(message) for message in room.said] == [TaskLost]


async def test_a_listing_finds_what_no_watch_has_seen() -> None:
    world = World().run()
    room = Room(world.fold)
    ref = world.fold.tasks["worker-0"].ref
    room.cluster.known[ref.uid] = TaskStatus(job=JOB.uid, ref=ref, phase=TaskPhase.RUNNING)
    await compare_once(room.cluster, room.context)
    assert [(message.ref.name, message.by) for message in room.said if isinstance(message, TaskLost)] == [
        ("worker-1", LossCause.UNKNOWN)
    ]


async def test_a_task_that_no_job_counts_on_is_taken_out() -> None:
    world = World().run()
    room = Room(world.fold)
    for task in world.fold.tasks.values():
        room.cluster.known[task.ref.uid] = TaskStatus(job=JOB.uid, ref=task.ref, phase=TaskPhase.RUNNING)
    stray = TaskRef(name="worker-1", uid=TaskUid("stray"), index=1)
    room.cluster.known[stray.uid] = TaskStatus(job=JOB.uid, ref=stray, phase=TaskPhase.RUNNING)
    await compare_once(room.cluster, room.context)
    phases = {uid: status.phase for uid, status in room.cluster.known.items()}
    assert [uid for uid, phase in phases.items() if phase is TaskPhase.GONE] == ["stray"]
    assert room.said == []


async def test_the_plan_of_a_job_that_ended_long_ago_is_taken_off_the_board() -> None:
    room = Room()
    await room.hand.do(plan(PlanPhase.END, 1))
    assert list(await room.hand.do(RemovePlan(job=JOB))) == []
    assert room.board.heads == {}
