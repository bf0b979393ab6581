"""A job from its creation through faults to its end."""

from keepstep.contracts.events import IncidentClosed, JobResumed, JobStarted, JobSucceeded, RecoveryPlanned
from keepstep.contracts.taxonomy import Level, Outcome, PlanPhase
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import World


def test_a_job_is_placed_started_and_succeeds() -> None:
    world = World().run()
    assert world.is_(Life.RUNNING)
    assert [placed.node for placed in world.last(JobStarted).placement] == ["n1", "n2"]
    assert world.fold.plan is not None
    assert (world.fold.plan.master_port, world.fold.plan.generation) == (4000, 1)
    world.hear(*(world.exit(rank) for rank in range(4))).settle()
    assert world.is_(Life.ENDED)
    assert world.names() == ["JobAccepted", "JobStarted", "JobSucceeded", "JobDeleted"]
    assert world.last(JobSucceeded).step == 100


def test_a_killed_rank_is_restarted_in_place_from_the_chosen_step() -> None:
    world = World().run()
    world.diagnose()
    world.settle()
    planned = world.last(RecoveryPlanned)
    assert (planned.level, planned.to_generation, planned.replace) == (Level.IN_PLACE, 2, ())
    head = world.fold.plan
    assert head is not None
    assert (head.phase, head.generation, head.resume_step, head.master_port) == (PlanPhase.RUN, 2, 20, 6002)
    resumed = world.last(JobResumed)
    assert (resumed.step, resumed.lost_steps, resumed.level) == (21, 10, Level.IN_PLACE)
    closed = world.last(IncidentClosed)
    assert (closed.outcome, closed.levels, closed.attempts) == (Outcome.RESUMED, (Level.IN_PLACE,), 1)
    assert closed.accounts is not None
    assert world.is_(Life.RUNNING)
    world.hear(*(world.exit(rank) for rank in range(4))).settle()
    assert world.names().count("JobSucceeded") == 1
