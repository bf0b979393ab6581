"""Deadlines that pass while bus, stack or machine stand still: nobody could have answered, so nobody failed to."""

import pytest

from keepstep.contracts.events import JobFailed, RecoveryFailed, RecoveryStarted
from keepstep.contracts.taxonomy import Applied, Level
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import World


def stopping() -> World:
    """Return a world whose agents have not yet answered the stop plan."""
    world = World().run()
    world.silent = {"worker-0", "worker-1"}
    world.diagnose()
    return world.settle()


def test_a_stop_deadline_that_passed_during_an_outage_waits_once_more() -> None:
    world = stopping().pass_deadline("stop", late_s=30)
    assert world.all(RecoveryFailed) == []
    assert "stop" in world.waits_for()
    world.silent.clear()
    for ref, _ in list(world.placed.values()):
        world.pending.append(world.applied(ref, 2, Applied.STOPPED))
    world.settle()
    assert [m.level for m in world.heard if isinstance(m, RecoveryStarted)] == [Level.IN_PLACE]
    assert world.is_(Life.RUNNING)


def test_it_waits_once_more_only_once() -> None:
    world = stopping().pass_deadline("stop", late_s=30).pass_deadline("stop", late_s=30)
    assert [each.level for each in world.all(RecoveryFailed)] == [Level.IN_PLACE]


@pytest.mark.parametrize("late_s", [0.0, 0.5])
def test_a_deadline_in_time_is_decided_on_at_once(late_s: float) -> None:
    world = stopping().pass_deadline("stop", late_s=late_s)
    assert [each.level for each in world.all(RecoveryFailed)] == [Level.IN_PLACE]


def test_ranks_that_finish_during_an_outage_are_not_called_hung() -> None:
    world = World().run()
    world.hear(world.exit(0)).pass_deadline("finish", late_s=120)
    assert world.all(JobFailed) == []
    world.hear(*(world.exit(rank) for rank in (1, 2, 3))).settle()
    assert "JobSucceeded" in world.names()


def test_a_task_that_was_only_silent_may_be_placed_on_its_node_again() -> None:
    world = stopping().pass_deadline("stop")
    assert world.fold.avoid == ()
    assert set(world.fold.recovery.soft_avoid if world.fold.recovery else ()) == {"n1", "n2"}
