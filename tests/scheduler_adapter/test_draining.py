"""A drained node loses its tasks as planned, after the next checkpoint, and not for ever later."""

from keepstep.contracts.events import (
    DeadlinePassed,
    TaskLost,
)
from keepstep.contracts.ids import EventId
from keepstep.contracts.orders import DrainNode
from keepstep.contracts.taxonomy import LossCause, Service
from keepstep.scheduler_adapter.core import deadlines
from tests.scheduler_adapter.voices import JOB, POOL
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
