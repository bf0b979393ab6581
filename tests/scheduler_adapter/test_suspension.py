"""Jobs that people suspend or resume: nothing is expected of the one, and the other may be over."""

import pytest

from keepstep.contracts.events import Finish, IncidentClosed, JobFailed, JobFound, JobResumed, JobWaiting
from keepstep.contracts.policy import Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import LossCause
from keepstep.ports.controllers import Sighting, Suspended
from keepstep.scheduler_adapter.core import effects
from keepstep.scheduler_adapter.core.restarts import EndJob
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.controlled import KIND, gone
from tests.scheduler_adapter.test_sightings import Watched, found
from tests.scheduler_adapter.voices import JOB, spec

PAUSED = Suspended(JOB, KIND, f"{KIND} is suspended, and not by keepstep: resume it")
HASTY = spec(policy=Policy(recovery=RecoveryPolicy.model_validate({"pending": "fail", "pending_limit": 60})))
LONG = 2 * max(HASTY.policy.recovery.level_deadlines.values())


def running() -> Watched:
    """Return a job that runs."""
    world = Watched(job=HASTY)
    world.shows(found(asked=HASTY))
    assert world.is_(Life.RUNNING)
    return world


def suspended() -> Watched:
    """Return a job that somebody suspended while it ran, and whose pods went."""
    world = running()
    world.nodes = dict.fromkeys(world.nodes, False)
    word = world.shows(PAUSED)
    assert isinstance(word, JobWaiting)
    assert word.suspended
    verdict = gone(world)
    world.hear(world.lose("worker-0", LossCause.DELETED), world.lose("worker-1", LossCause.DELETED))
    world.diagnose(verdict)
    world.settle()
    return world


def resume(world: Watched) -> Watched:
    """Let somebody resume the job, and its new pods run."""
    world.nodes = dict.fromkeys(world.nodes, True)
    world.shows(found(asked=HASTY))
    world.act()
    world.settle()
    return world


def test_no_limit_runs_for_a_job_that_somebody_suspended() -> None:
    world = suspended()
    assert not {"level", "pending", "launch"} & world.waits_for()
    assert world.all(JobFailed) == []


def test_a_job_that_is_resumed_recovers_with_all_of_its_time() -> None:
    world = suspended()
    world.now = long_after = world.now + LONG
    world.shows(found(asked=HASTY))
    assert world.fold.recovery is not None
    assert world.fold.recovery.level_since is not None
    assert world.fold.recovery.level_since >= long_after
    resume(world)
    assert world.last(JobResumed)
    assert len(world.all(IncidentClosed)) == 1
    assert not world.fold.suspended


def test_a_job_that_waits_for_its_first_pods_while_it_is_suspended_is_launched_afterwards() -> None:
    world = Watched(job=HASTY)
    world.nodes = dict.fromkeys(world.nodes, False)
    world.shows(found(asked=HASTY))
    world.shows(PAUSED)
    assert not {"pending", "launch"} & world.waits_for()
    world.now += LONG
    assert resume(world).is_(Life.RUNNING)


def test_each_suspension_is_told_once() -> None:
    world = running()
    words = []
    for _ in range(3):
        words.append(world.shows(PAUSED))
        assert world.shows(PAUSED) is None
        world.crash()
        assert world.shows(PAUSED) is None
        world.shows(found(asked=HASTY))
    assert len({word.id for word in words if word is not None}) == 3


def test_a_job_that_never_began_is_not_told_to_be_suspended() -> None:
    assert Watched().shows(PAUSED) is None


def ended() -> Watched:
    """Return a job that failed for good."""
    world = running()
    world.hear(world.finished(Finish.FAILED))
    world.settle()
    assert world.is_(Life.ENDED)
    return world


def wanted(world: Watched) -> list[EndJob]:
    """Return which jobs the fold wants put down."""
    return [effect for effect in effects(world.fold) if isinstance(effect, EndJob)]


def test_a_job_that_is_resumed_after_its_end_is_put_down_again_and_told_why() -> None:
    world = ended()
    word = world.shows(found(asked=HASTY, resumed=True))
    assert isinstance(word, JobFound)
    assert word.resumed
    assert "was resumed after its end" in world.last(JobWaiting).because
    (end,) = wanted(world)
    assert (end.tasks, end.succeeded) == ((), False)
    assert world.is_(Life.ENDED)
    down = world.shows(PAUSED)
    assert isinstance(down, JobWaiting)
    assert wanted(world) == []


def test_a_job_that_is_resumed_again_and_again_is_put_down_each_time() -> None:
    world = ended()
    ends = set()
    for _ in range(3):
        world.shows(found(asked=HASTY, resumed=True))
        assert world.shows(found(asked=HASTY, resumed=True)) is None
        world.anew()
        assert world.shows(found(asked=HASTY, resumed=True)) is None
        ends.add(wanted(world)[0].id)
        world.shows(PAUSED)
    assert len(ends) == 3


@pytest.mark.parametrize("said", [found(asked=HASTY), PAUSED])
def test_the_object_of_a_job_that_is_over_says_nothing_while_nobody_resumed_it(said: Sighting) -> None:
    world = ended()
    assert world.shows(said) is None
    assert wanted(world) == []
