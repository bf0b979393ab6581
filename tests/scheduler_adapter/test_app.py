"""The hand on plan board and cluster looks first, acts if needed, and says what came of it."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

import pytest

from keepstep.contracts.events import JobHeld, JobWaiting, RecoveryStarted, TaskLost, TaskReleased
from keepstep.contracts.ids import EventId, NodeName, Pool, TaskUid
from keepstep.contracts.message import POOL_KEY
from keepstep.contracts.orders import PlanHead
from keepstep.contracts.taxonomy import LossCause, PlanPhase
from keepstep.contracts.topology import TaskRef
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.ports.controllers import Controllers
from keepstep.ports.errors import Transient
from keepstep.scheduler_adapter.app import follow_changes
from keepstep.scheduler_adapter.comparing import compare_once, compare_plans
from keepstep.scheduler_adapter.core import JobState, effects
from keepstep.scheduler_adapter.core.forgetting import RemovePlan
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.restarts import EndJob
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.wants import CreateTasks, DeleteTask, PublishPlan
from keepstep.scheduler_adapter.hand import Hand
from keepstep.scheduler_adapter.settings import Settings
from keepstep.scheduler_adapter.telling import Said
from tests.scheduler_adapter.room import Room, gone
from tests.scheduler_adapter.voices import JOB
from tests.scheduler_adapter.world import World


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


async def test_a_refused_job_that_comes_while_the_pool_is_paused_is_not_put_down_before_the_pause_reaches_it() -> None:
    """The pause is handed on every half second, and the object of such a job was ended in the first of them."""

    class Untouched:
        async def end(self, *_: object, **__: object) -> None:
            raise AssertionError("the job was put down")

    room = Room(World().run().fold)
    pool = JobState(job=None, pool=Pool("p"), paused=True, since=datetime(2026, 1, 1, tzinfo=UTC))
    folds = {str(JOB.uid): room.state, POOL_KEY: pool}
    context = replace(room.context, folds=lambda: {key: state for key, state in folds.items() if state is not None})
    hand = Hand(room.cluster, context, Settings(), controllers=cast("Controllers", Untouched()))
    refused = EndJob(pool=Pool("p"), job=JOB, generation=1, again=EventId("unfit"), refused=True)
    with pytest.raises(Transient, match="actions are paused"):
        await hand.do(refused)
    assert [(type(said), said.job) for said in room.said] == [(JobHeld, JOB)]


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
    following = asyncio.create_task(follow_changes(room.cluster, room.context, Said(room.context.clock)))
    await room.cluster.changes.put(status)
    await room.cluster.changes.put(gone(status))
    await asyncio.wait_for(room.heard.wait(), 5)
    following.cancel()
    assert [type(message) for message in room.said] == [TaskLost]


async def test_an_eviction_is_said_once_though_its_proof_comes_before_the_fold_knows_of_it() -> None:
    world = World().run()
    room = Room(world.fold)
    status = gone(TaskStatus(job=JOB.uid, ref=world.fold.tasks["worker-1"].ref, phase=TaskPhase.RUNNING))
    following = asyncio.create_task(follow_changes(room.cluster, room.context, Said(room.context.clock)))
    for proven in (False, False, True, True):
        await room.cluster.changes.put(replace(status, by=LossCause.EVICTED, proven=proven))
    async with asyncio.timeout(5):
        while len(room.said) < 2:  # noqa: ASYNC110 - a room tells of its first word alone
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    following.cancel()
    assert [type(message) for message in room.said] == [TaskLost, TaskReleased]


async def test_of_a_loss_whose_proof_was_told_with_it_nothing_is_said_but_the_loss() -> None:
    """Of 200 nodes that were out of service a thousand words more told that their tasks were dead."""
    world = World().run()
    room = Room(world.fold)
    status = gone(TaskStatus(job=JOB.uid, ref=world.fold.tasks["worker-1"].ref, phase=TaskPhase.RUNNING))
    other = gone(TaskStatus(job=JOB.uid, ref=world.fold.tasks["worker-0"].ref, phase=TaskPhase.RUNNING))
    following = asyncio.create_task(follow_changes(room.cluster, room.context, Said(room.context.clock)))
    for one in (status, status, status, other):
        await room.cluster.changes.put(replace(one, by=LossCause.NODE_LOST, proven=True))
    async with asyncio.timeout(5):
        while not any(message.task == other.ref.uid for message in room.said):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
    following.cancel()
    assert [type(message) for message in room.said] == [TaskLost, TaskLost]


async def test_a_listing_leaves_out_what_the_watch_said_just_now() -> None:
    """A listing in the middle of a burst said each of its losses again, while the folds were busy with the first."""
    world = World().run()
    room = Room(world.fold)
    for task in world.fold.tasks.values():
        status = TaskStatus(job=JOB.uid, ref=task.ref, phase=TaskPhase.RUNNING)
        room.cluster.known[task.ref.uid] = gone(status) if task.ref.name == "worker-1" else status
    said = Said(room.context.clock)
    following = asyncio.create_task(follow_changes(room.cluster, room.context, said))
    await room.cluster.changes.put(room.cluster.known[world.fold.tasks["worker-1"].ref.uid])
    await asyncio.wait_for(room.heard.wait(), 5)
    following.cancel()
    for within, words in ((timedelta(seconds=10), 1), (timedelta(0), 2)):
        await compare_once(room.cluster, room.context, needless=partial(said.lately, within=within))
        assert [type(message) for message in room.said] == [TaskLost] * words


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


async def test_a_plan_that_was_garbled_is_put_out_anew_while_agents_wait_for_it() -> None:
    """It was acted on at the next plan alone, so a job that starts waited for its deadline."""
    fold = World().run().fold
    tasks = {name: task.model_copy(update={"started": 0}) for name, task in fold.tasks.items()}
    room = Room(fold.model_copy(update={"life": Life.LAUNCHING, "tasks": tasks}))
    assert room.state is not None
    wanted = next(effect for effect in effects(room.state) if isinstance(effect, PublishPlan))
    await room.hand.do(wanted)
    await compare_plans(room.context)
    assert room.board.writes == 1
    del room.board.heads[JOB.uid]
    await compare_plans(room.context)
    assert room.board.heads == {JOB.uid: wanted.head}
    room.board.garbled = {(JOB.uid, wanted.entries[1].task)}
    await compare_plans(room.context)
    assert (room.board.garbled, room.board.writes) == (set(), 3)
