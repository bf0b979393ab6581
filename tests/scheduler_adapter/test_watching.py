"""What the watch and the listings of the cluster tell: once, of current tasks, and again with proof."""

from keepstep.contracts.events import (
    TaskLost,
    TaskReleased,
)
from keepstep.contracts.taxonomy import LossCause
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.scheduler_adapter.core.losses import missing, observe
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.voices import JOB
from tests.scheduler_adapter.world import World


def gone(world: World, name: str, *, proven: bool = True) -> TaskStatus:
    ref = world.fold.tasks[name].ref
    return TaskStatus(job=JOB.uid, ref=ref, phase=TaskPhase.GONE, by=LossCause.DELETED, proven=proven)


def test_the_watch_tells_of_a_current_task_once_and_again_with_proof() -> None:
    world = World().run()
    unproven = observe(world.fold, gone(world, "worker-1", proven=False), world.now)
    assert isinstance(unproven, TaskLost)
    world.hear(unproven)
    assert observe(world.fold, gone(world, "worker-1", proven=False), world.now) is None
    proven = observe(world.fold, gone(world, "worker-1"), world.now)
    assert isinstance(proven, TaskLost)
    assert proven.id != unproven.id
    world.hear(proven)
    assert observe(world.fold, gone(world, "worker-1"), world.now) is None


def test_the_watch_says_nothing_of_a_task_replaced_long_ago() -> None:
    world = World().run()
    late = gone(world, "worker-1")
    world.hear(world.lose("worker-1"))
    world.diagnose()
    world.settle()
    assert observe(world.fold, late, world.now) is None


def test_the_watch_calls_a_task_that_keepstep_takes_out_released_and_not_lost() -> None:
    world = World().run()
    leaving = gone(world, "worker-1")
    world.hear(world.lose("worker-1", proven=False))
    event = world.diagnose(answers=False)
    world.hear(world.chosen(event), world.fenced(event))
    assert isinstance(observe(world.fold, leaving, world.now), TaskReleased)


def test_a_task_whose_ranks_all_finished_may_go() -> None:
    world = World().run()
    world.hear(world.exit(2), world.exit(3))
    status = gone(world, "worker-1")
    assert observe(world.fold, status, world.now) is None
    world.hear(world.lose("worker-1", LossCause.DELETED), world.exit(0), world.exit(1)).settle()
    released = observe(world.fold, status, world.now)
    assert released is not None
    world.hear(released).settle()
    assert world.is_(Life.ENDED)
    assert world.names().count("JobSucceeded") == 1


def test_a_joined_task_that_no_listing_has_is_missing() -> None:
    world = World().run()
    absent = missing(world.fold, frozenset({world.uid("worker-0")}))
    assert [(status.ref.name, status.by, status.proven) for status in absent] == [
        ("worker-1", LossCause.UNKNOWN, False)
    ]


def test_a_task_that_has_not_joined_yet_is_not_missing() -> None:
    assert missing(World(nodes=[]).run().fold, frozenset()) == ()
