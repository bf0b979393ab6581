"""What a job's object shows is said when it is news, and under an id that tells it from what was said before."""

from collections.abc import Callable
from typing import Any

import pytest

from keepstep.contracts.events import JobAccepted, JobFailed, JobFound, JobWaiting, LevelRefusal
from keepstep.contracts.ids import EventId
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PauseActions
from keepstep.contracts.taxonomy import Category, Level
from keepstep.contracts.topology import JobSpec
from keepstep.ports.controllers import Found, Sighting, Suspended, Unfit
from keepstep.scheduler_adapter.core.sightings import sighted
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.controlled import KIND, NEVER, Controlled
from tests.scheduler_adapter.voices import JOB, POOL, spec

ALL = frozenset(Level)
FEW = frozenset({Level.WAIT, Level.IN_PLACE, Level.JOB, Level.FAIL})


class Watched(Controlled):
    """A job whose object is looked at: what is said of it is heard by its fold, later where ``lags``."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(**changes)
        self.told: Message | None = None
        self.lags = False

    def shows(self, said: Sighting) -> Message | None:
        """Let a sighting of the object come in; return what is said of it."""
        message = sighted(self.state, said, told=self.told, pool=POOL, now=self.now)
        if message is not None:
            self.told = message
            self.said.append(message)
            self.pending.append(message)
        if not self.lags:
            self.settle()
        return message

    def anew(self) -> None:
        """Let another process take over: it knows the folds and nothing else."""
        self.crash()
        self.told = None


def found(
    levels: frozenset[Level] = ALL,
    refusals: tuple[LevelRefusal, ...] = (),
    *,
    asked: JobSpec | None = None,
    resumed: bool = False,
) -> Found:
    """Return that the job is there and can be restarted so."""
    return Found(JOB, KIND, asked or spec(), levels, refusals, resumed=resumed)


def unfit(because: str = "annotation keepstep.io/spec: nodes: missing; inject the job again") -> Unfit:
    """Return that the job cannot be obeyed."""
    return Unfit(JOB, KIND, because)


def down() -> Suspended:
    """Return that the job makes no pods."""
    return Suspended(JOB, KIND, f"{KIND} is put down, as it could not be obeyed: put it right, then resume it")


def wrong() -> Found:
    """Return that the job is there with a specification that is refused."""
    return found(asked=spec(resume_arg="--resume={path}", checkpoint_dir=None))


@pytest.mark.parametrize("refused", [unfit, wrong])
def test_a_refused_job_is_put_down_since_its_pods_would_wait_for_ever(refused: Callable[[], Sighting]) -> None:
    world = Watched()
    world.shows(refused())
    [end] = world.ends
    assert (end.refused, end.succeeded, end.tasks) == (True, False, ())
    assert isinstance(world.shows(down()), JobWaiting)
    assert world.shows(down()) is None
    world.anew()
    assert world.shows(down()) is None
    assert len(world.ends) == 1
    assert world.waits_for() == {"forget"}


@pytest.mark.parametrize("refused", [unfit, wrong])
def test_a_refused_job_that_is_resumed_as_it_was_is_told_and_put_down_again(refused: Callable[[], Sighting]) -> None:
    world = Watched()
    for _ in range(3):
        world.shows(refused())
        world.shows(down())
    assert len({end.id for end in world.ends}) == len(world.ends) == 3
    assert len(world.all(JobFailed)) == 3


@pytest.mark.parametrize("refused", [unfit, wrong])
def test_a_refused_job_begins_once_it_is_put_right_and_resumed(refused: Callable[[], Sighting]) -> None:
    world = Watched()
    world.shows(refused())
    world.shows(down())
    world.anew()
    world.shows(found())
    assert world.is_(Life.RUNNING)
    assert [end.refused for end in world.ends] == [True]


def test_while_actions_are_paused_a_refused_job_is_left_alone() -> None:
    world = Watched()
    world.shows(unfit())
    world.shows(down())
    world.hear(PauseActions(id=EventId("pause"), time=world.now, pool=POOL, job=JOB, by="eve")).settle()
    world.shows(unfit())
    assert len(world.ends) == 1


def test_levels_that_come_back_are_news_each_time_they_do() -> None:
    world = Watched()
    words = [world.shows(said) for said in (found(), found(FEW, (NEVER,))) * 3]
    assert all(isinstance(word, JobFound) for word in words)
    assert len({word.id for word in words if word is not None}) == 6
    assert world.fold.controlled is not None
    assert world.fold.controlled.levels == FEW


def test_levels_that_changed_back_before_the_fold_heard_of_it_are_told_too() -> None:
    world = Watched()
    world.shows(found())
    world.lags = True
    world.shows(found(FEW, (NEVER,)))
    world.shows(found())
    world.settle()
    assert world.fold.controlled is not None
    assert world.fold.controlled.levels == ALL


def test_a_successor_that_sees_the_same_says_nothing_or_the_same() -> None:
    world = Watched()
    world.lags = True
    first = world.shows(found())
    again = sighted(world.state, found(), pool=POOL, now=world.now)
    assert first is not None
    assert again is not None
    assert first.id == again.id
    world.settle().crash()
    assert sighted(world.state, found(), pool=POOL, now=world.now) is None


def test_a_job_that_cannot_be_obeyed_is_over_and_told_once() -> None:
    world = Watched()
    failed = world.shows(unfit())
    assert isinstance(failed, JobFailed)
    assert failed.category is Category.USER_CONFIG
    assert world.is_(Life.ENDED)
    world.anew()
    assert world.shows(unfit()) is None
    assert world.waits_for() == {"forget"}


def test_a_job_that_is_wrong_in_another_way_and_then_in_the_first_is_told_each_time() -> None:
    world = Watched()
    words = [world.shows(unfit(because)) for because in ("nodes", "label") * 2]
    assert len({word.id for word in words if word is not None}) == 4


def test_a_job_that_was_put_right_begins() -> None:
    world = Watched()
    world.shows(unfit())
    world.shows(found())
    assert world.is_(Life.RUNNING)
    assert world.last(JobAccepted).spec == spec()


def test_a_job_whose_specification_was_refused_begins_once_it_is_put_right() -> None:
    wrong = spec(resume_arg="--resume={path}", checkpoint_dir=None)
    world = Watched()
    world.shows(found(asked=wrong))
    assert world.is_(Life.ENDED)
    assert "resume_arg needs a checkpoint" in world.last(JobFailed).because
    world.anew()
    assert world.shows(found(asked=wrong)) is None
    world.shows(found())
    assert world.is_(Life.RUNNING)
