"""What the watch and the listings of the cluster tell: once, of current tasks, and of each the proof."""

import pytest

from keepstep.contracts.events import (
    TaskLost,
    TaskReleased,
)
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import LossCause
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.scheduler_adapter.core.losses import missing, observe
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.voices import JOB
from tests.scheduler_adapter.world import World


def gone(world: World, name: str, *, proven: bool = True) -> TaskStatus:
    ref = world.fold.tasks[name].ref
    return TaskStatus(job=JOB.uid, ref=ref, phase=TaskPhase.GONE, by=LossCause.DELETED, proven=proven)


def told(world: World, status: TaskStatus) -> list[tuple[type[Message], bool]]:
    """Return what is said of it, and whether with proof."""
    return [(type(word), word.proven) for word in observe(world.fold, status, world.now)]


def test_a_loss_is_said_once_and_its_proof_is_a_word_of_its_own() -> None:
    world = World().run()
    unproven, proven = gone(world, "worker-1", proven=False), gone(world, "worker-1")
    assert told(world, unproven) == [(TaskLost, False)]
    world.hear(*observe(world.fold, unproven, world.now))
    assert told(world, unproven) == []
    assert told(world, proven) == [(TaskReleased, True)]
    world.hear(*observe(world.fold, proven, world.now))
    assert told(world, proven) == []


def test_a_loss_that_comes_with_its_proof_is_one_word_and_the_same_as_without() -> None:
    world = World().run()
    lost, proof = observe(world.fold, gone(world, "worker-1"), world.now)
    (unproven,) = observe(world.fold, gone(world, "worker-1", proven=False), world.now)
    assert (lost.id, lost.proven, type(proof)) == (unproven.id, True, TaskReleased)
    world.hear(lost)
    assert told(world, gone(world, "worker-1")) == []


@pytest.mark.parametrize("proof_first", [False, True])
def test_ranks_of_a_lost_task_are_given_out_again_with_the_proof_whichever_came_first(proof_first: bool) -> None:
    world = World().run()
    lost = world.lose("worker-1", proven=False)
    words = [lost, *observe(world.fold, gone(world, "worker-1"), world.now)[1:]]
    world.hear(*(reversed(words) if proof_first else words))
    world.diagnose()
    world.settle()
    assert world.names().count("JobResumed") == 1
    assert world.is_(Life.RUNNING)


def test_the_watch_says_nothing_of_a_task_replaced_long_ago() -> None:
    world = World().run()
    late = gone(world, "worker-1")
    world.hear(world.lose("worker-1"))
    world.diagnose()
    world.settle()
    assert told(world, late) == []


def test_the_watch_calls_a_task_that_keepstep_takes_out_released_and_not_lost() -> None:
    world = World().run()
    leaving = gone(world, "worker-1")
    world.hear(world.lose("worker-1", proven=False))
    event = world.diagnose(answers=False)
    world.hear(world.chosen(event), world.fenced(event))
    assert told(world, leaving) == [(TaskReleased, True)]


def test_a_task_whose_ranks_all_finished_may_go() -> None:
    world = World().run()
    world.hear(world.exit(2), world.exit(3))
    status = gone(world, "worker-1")
    assert told(world, status) == []
    world.hear(world.lose("worker-1", LossCause.DELETED), world.exit(0), world.exit(1)).settle()
    assert told(world, status) == [(TaskReleased, True)]
    world.hear(*observe(world.fold, status, world.now)).settle()
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
