"""When a job counts as resumed: by its marks, or by living where there are none."""

from keepstep.contracts.events import (
    IncidentClosed,
    JobResumed,
    RecoveryPlanned,
    Versions,
)
from keepstep.contracts.taxonomy import Level
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import World

NO_TORCH = Versions(python="3.11.2")


def test_a_job_without_marks_counts_as_resumed_when_its_ranks_live() -> None:
    world = World(versions=NO_TORCH)
    world.steps = False
    world.run().diagnose(world.verdict(step=None))
    world.settle()
    assert world.all(JobResumed) == []
    world.pass_deadline("alive").settle()
    assert world.last(JobResumed).lost_steps is None
    assert world.last(IncidentClosed).accounts is not None


def test_a_torch_job_that_never_marked_is_resumed_by_living_as_long_as_a_level_may_take() -> None:
    world = World()
    world.steps = False
    world.run().diagnose(world.verdict(step=None))
    assert "alive" not in world.settle().waits_for()
    world.pass_deadline("level").settle()
    assert world.last(JobResumed).level is Level.IN_PLACE
    assert world.is_(Life.RUNNING)


def test_a_torch_job_that_never_marked_and_lost_a_rank_takes_the_next_level() -> None:
    world = World()
    world.steps = False
    world.run().diagnose(world.verdict(step=None))
    world.settle().hear(world.exit(2, code=1)).pass_deadline("level")
    assert world.last(RecoveryPlanned).level is Level.POD


def test_a_job_that_marks_is_never_resumed_by_living_alone() -> None:
    world = World(versions=NO_TORCH).run()
    world.steps = False
    world.diagnose()
    assert "alive" not in world.settle().waits_for()


def test_a_dead_rank_is_not_alive() -> None:
    world = World(versions=NO_TORCH)
    world.steps = False
    world.run().diagnose()
    world.settle()
    assert "alive" in world.waits_for()
    world.hear(world.exit(2, code=1))
    assert "alive" not in world.waits_for()
