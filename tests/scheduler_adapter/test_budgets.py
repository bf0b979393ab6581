"""What is tried again, how often, and when the job ends with its cause."""

from datetime import timedelta

import pytest

from keepstep.contracts.events import (
    IncidentClosed,
    JobFailed,
    JobResumed,
)
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Category, Outcome
from keepstep.contracts.topology import Culprit
from keepstep.core.sentences import sentence
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.voices import spec
from tests.scheduler_adapter.world import World


def user_code(world: World, step: int | None) -> World:
    verdict = world.verdict(category=Category.USER_CODE, signature="KeyError: 'x'", step=step, culprit=Culprit(rank=1))
    world.diagnose(verdict)
    return world.settle()


def test_the_same_exception_at_the_same_step_ends_the_job_with_its_last_line() -> None:
    world = user_code(user_code(World().run(), 36), 36)
    failed = world.last(JobFailed)
    assert (failed.category, failed.last_line) == (Category.USER_CODE, "KeyError: 'x'")
    assert world.last(IncidentClosed).outcome is Outcome.FAILED
    assert len(world.all(JobResumed)) == 1
    assert world.is_(Life.ENDED)
    assert world.placed == {}


def test_a_failure_that_is_not_retriable_ends_the_job_at_once_and_tells_its_cause_once() -> None:
    words = "rank 1 said: python: No module named absent"
    world = World().run()
    world.diagnose(
        world.verdict(category=Category.USER_CONFIG, signature="No module named absent", because=words, retriable=False)
    )
    failed = world.settle().last(JobFailed)
    assert failed.because == f"user_config is not worth a retry: {words}"
    assert sentence(failed, {}).count("No module named absent") == 1
    assert world.all(JobResumed) == []


def test_the_same_exception_after_progress_is_tried_again_within_its_budget() -> None:
    world = user_code(user_code(World().run(), 36), 48)
    assert len(world.all(JobResumed)) == 2
    assert user_code(world, 60).is_(Life.ENDED)


def test_unknown_failures_end_the_job_after_three_in_an_hour() -> None:
    world = World().run()
    for _ in range(3):
        world.diagnose()
        assert world.settle().is_(Life.RUNNING)
    world.diagnose()
    assert world.settle().is_(Life.ENDED)
    assert "3 of 3 unknown recoveries used" in world.last(JobFailed).because


def fail_until_the_end(world: World, at_most: int) -> int:
    """Let the job fail again and again, each time with progress; return how often it came back."""
    for count in range(at_most):
        world.diagnose(world.verdict(signature=f"SIGKILL {count}", step=30 + count))
        if not world.settle().is_(Life.RUNNING):
            return count
    return at_most


@pytest.mark.parametrize(
    ("recovery", "recovered", "because"),
    [
        ({"restart_limit": 3, "unknown": {"count": 9}}, 3, "3 recoveries of this job, recovery.restart_limit is 3"),
        ({"restart_limit": 9, "unknown": {"count": 3}}, 3, "3 of 3 unknown recoveries used"),
        ({"restart_limit": None, "unknown": {"count": 99}}, 20, None),
    ],
    ids=["the limit of all comes first", "the budget of the kind comes first", "no limit"],
)
def test_whichever_limit_comes_first_ends_the_job_and_says_so(
    recovery: dict[str, object], recovered: int, because: str | None
) -> None:
    world = World(spec(policy=Policy.model_validate({"recovery": recovery}))).run()
    assert fail_until_the_end(world, at_most=20) == recovered
    assert world.is_(Life.RUNNING) is (because is None)
    assert all(because is not None and because in failed.because for failed in world.all(JobFailed))


def test_a_quiet_hour_gives_all_three_tries_back() -> None:
    world = World().run()
    for _ in range(3):
        world.diagnose()
        assert world.settle().is_(Life.RUNNING)
    world.now += timedelta(hours=1)
    assert fail_until_the_end(world, at_most=9) == 3


def test_the_budget_is_whole_again_after_its_window() -> None:
    world = World().run()
    for _ in range(8):
        world.diagnose()
        assert world.settle().is_(Life.RUNNING)
        world.now += timedelta(minutes=21)


def test_all_tasks_failing_at_once_after_each_start_end_the_job() -> None:
    world = World().run()
    world.steps = False
    for attempt in range(1, 4):
        assert not world.is_(Life.ENDED)
        generation = world.fold.generation
        if attempt == 1:
            world.put_back_to_start()
        world.hear(*(world.exit(rank, code=1, ran_s=2, generation=generation) for rank in (0, 2)))
        world.diagnose(world.verdict(culprit=Culprit(rank=attempt)), attempt=attempt)
        world.settle()
    assert "failed within 10 s of their start 3 times in a row" in world.last(JobFailed).because
