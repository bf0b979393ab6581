"""A drained node loses its tasks as planned, after the next checkpoint, and not for ever later."""

import pytest

from keepstep.contracts.events import (
    DeadlinePassed,
    JobFailed,
    JobWaiting,
    TaskLost,
)
from keepstep.contracts.ids import EventId
from keepstep.contracts.orders import DrainNode
from keepstep.contracts.policy import Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import Category, Level, LossCause, Service
from keepstep.contracts.topology import Culprit
from keepstep.core.job_now import JobNow
from keepstep.scheduler_adapter.core import deadlines
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.voices import JOB, POOL, spec
from tests.scheduler_adapter.world import World


def drain_of(world: World, task: str) -> DrainNode:
    node = world.fold.tasks[task].node
    assert node is not None
    return DrainNode(id=EventId("d"), time=world.now, pool=POOL, job=JOB, node=node, reason="new fan", by="ops")


def test_a_drained_node_loses_its_tasks_as_planned() -> None:
    """A job that never saved has nothing to wait for."""
    world = World().create().settle()
    order = drain_of(world, "worker-1")
    world.hear(order)
    (lost,) = world.all(TaskLost)
    assert (lost.ref.name, lost.by, lost.text) == ("worker-1", LossCause.DRAINED, f"ops drains {order.node}: new fan")


def test_a_drain_waits_for_the_next_checkpoint_of_a_job_that_saves() -> None:
    world = World().run()
    world.hear(world.committed(10))
    world.hear(drain_of(world, "worker-1"))
    assert not world.all(TaskLost)
    world.hear(world.committed(20))
    assert [lost.ref.name for lost in world.all(TaskLost)] == ["worker-1"]
    world.hear(world.committed(30))
    assert len(world.all(TaskLost)) == 1


def test_a_drain_does_not_wait_for_ever() -> None:
    world = World().run()
    world.hear(world.committed(10), drain_of(world, "worker-1"))
    (due,) = [each for each in deadlines(world.fold) if each.what.startswith("drain/")]
    assert due.due - world.now == world.fold.specified().policy.recovery.drain_wait
    passed = DeadlinePassed(
        id=EventId("p"),
        time=due.due,
        pool=POOL,
        job=JOB,
        service=Service.SCHEDULER_ADAPTER,
        scope=JOB.uid,
        what=due.what,
        due=due.due,
    )
    world.hear(passed)
    assert [lost.ref.name for lost in world.all(TaskLost)] == ["worker-1"]
    assert not [each for each in deadlines(world.fold) if each.what.startswith("drain/")]


def world_of(*levels: Level, enabled: bool = True) -> World:
    recovery = RecoveryPolicy(levels=levels, enabled=enabled)
    return World(spec(policy=Policy(recovery=recovery))).run()


UNABLE = "not pod: the task to be replaced holds rank 0; not job: recovery.levels leaves it out"


def test_a_drain_that_no_level_can_do_leaves_the_job_running_and_is_told() -> None:
    """A healthy job failed once because its rank 0 was to move and its policy has no level that moves it."""
    world = world_of(Level.IN_PLACE, Level.POD)
    before = world.fold
    world.hear(drain_of(world, "worker-0")).settle()
    assert not world.all(TaskLost)
    (told,) = world.all(JobWaiting)
    assert told.because == f"ops drains {told.node}; no level can move worker-0 from there: {UNABLE}"
    assert told.runs
    assert told.node == before.tasks["worker-0"].node
    world.hear(told)
    assert world.fold.model_copy(update={"recent": before.recent}) == before


def test_another_task_of_such_a_job_is_moved_all_the_same() -> None:
    world = world_of(Level.IN_PLACE, Level.POD)
    world.hear(drain_of(world, "worker-1"))
    assert [lost.ref.name for lost in world.all(TaskLost)] == ["worker-1"]


def test_a_job_that_may_be_restarted_as_one_moves_its_rank_0() -> None:
    world = world_of(Level.POD, Level.JOB)
    world.hear(drain_of(world, "worker-0"))
    assert [lost.ref.name for lost in world.all(TaskLost)] == ["worker-0"]


@pytest.mark.parametrize("task", ["worker-0", "worker-1"])
def test_a_job_without_recovery_is_drained_of_nothing(task: str) -> None:
    world = world_of(*Level, enabled=False)
    world.hear(drain_of(world, task))
    assert not world.all(TaskLost)
    assert "recovery.enabled is false" in world.last(JobWaiting).because


def test_a_job_that_saves_is_told_at_once_and_not_after_its_next_checkpoint() -> None:
    world = world_of(Level.IN_PLACE, Level.POD)
    world.hear(world.committed(10), drain_of(world, "worker-0"))
    assert len(world.all(JobWaiting)) == 1
    world.hear(world.committed(20))
    assert len(world.all(JobWaiting)) == 1
    assert not world.all(TaskLost)


def test_a_drain_during_a_recovery_that_cannot_take_it_in_leaves_the_recovery_alone() -> None:
    world = world_of(Level.IN_PLACE, Level.POD)
    world.diagnose(world.verdict(category=Category.HANG, culprit=Culprit(rank=3)))
    world.hear(drain_of(world, "worker-0"))
    assert world.last(JobWaiting).runs
    world.settle()
    assert not world.all(JobFailed)
    assert not world.all(TaskLost)
    assert world.is_(Life.RUNNING)
    assert world.fold.recovery is None


def test_a_drain_of_a_job_that_is_over_says_nothing() -> None:
    world = world_of(Level.IN_PLACE, Level.POD)
    order = drain_of(world, "worker-0")
    for rank in range(4):
        world.hear(world.exit(rank))
    world.hear(order)
    assert not world.all(JobWaiting)


def test_a_drain_that_cannot_be_done_stands_beside_a_job_that_runs() -> None:
    world = world_of(Level.IN_PLACE, Level.POD)
    world.hear(drain_of(world, "worker-0"))
    now = JobNow()
    for message in world.said:
        now.hear(message)
    assert (str(now.state), now.because) == ("running", world.last(JobWaiting).because)
