"""What is tried again, how often, and when the job ends with its cause."""

from datetime import timedelta
from typing import Any

import pytest

from keepstep.contracts.events import (
    IncidentClosed,
    JobFailed,
    JobResumed,
    RanksStarted,
    RecoveryPlanned,
)
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome
from keepstep.contracts.topology import Culprit
from keepstep.core.budgets import BudgetClass, Ledger
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


def peers_tell(world: World, **changes: Any) -> None:
    """Let the peers of worker-1 tell of it, and a plan be made of that, before its loss is known."""
    culprit = Culprit(task=world.fold.tasks["worker-1"].ref.uid)
    verdict = world.verdict(**{"category": Category.NETWORK, "culprit": culprit} | changes)
    event = world.diagnose(verdict, answers=False)
    world.hear(world.chosen(event), world.fenced(event))


def spent(world: World) -> dict[BudgetClass, int]:
    ledger = world.fold.ledger
    assert ledger.total == sum(map(len, ledger.spent.values()))
    return {kind: len(at) for kind, at in ledger.spent.items() if at}


@pytest.mark.parametrize(
    ("by", "counts"),
    [
        (LossCause.NODE_LOST, {BudgetClass.UNLIMITED: 1}),
        (LossCause.EVICTED, {}),
        (LossCause.PREEMPTED, {}),
        (LossCause.DELETED, {}),
        (LossCause.LAUNCHER_EXITED, {BudgetClass.CRASH: 1}),
    ],
)
def test_a_loss_that_is_told_after_its_peers_verdict_counts_as_that_loss(
    by: LossCause, counts: dict[BudgetClass, int]
) -> None:
    world = World().run()
    peers_tell(world)
    assert spent(world) == {BudgetClass.CRASH: 1}
    world.hear(world.lose("worker-1", by)).settle()
    assert [plan.level for plan in world.all(RecoveryPlanned)] == [Level.IN_PLACE, Level.POD]
    assert (spent(world), len(world.all(RanksStarted))) == (counts, 1)


def test_a_loss_that_is_told_before_the_plan_is_counted_once_too() -> None:
    world = World().run()
    culprit = Culprit(task=world.fold.tasks["worker-1"].ref.uid)
    event = world.diagnose(world.verdict(category=Category.NETWORK, culprit=culprit), answers=False)
    world.hear(world.lose("worker-1", LossCause.EVICTED), world.chosen(event), world.fenced(event)).settle()
    assert [plan.level for plan in world.all(RecoveryPlanned)] == [Level.POD]
    assert spent(world) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"culprit": Culprit(rank=0)},
        {"category": Category.USER_CODE, "culprit": Culprit(rank=3)},
    ],
    ids=["of another task", "by its own words"],
)
def test_a_loss_does_not_excuse_what_failed_by_itself(changes: dict[str, Any]) -> None:
    world = World().run()
    peers_tell(world, **changes)
    before = spent(world)
    world.hear(world.lose("worker-1", LossCause.EVICTED)).settle()
    assert sum(before.values()) == 1
    assert spent(world) == before


def test_what_a_loss_explains_leaves_the_next_failure_counted() -> None:
    world = World().run()
    peers_tell(world)
    world.hear(world.lose("worker-1", LossCause.EVICTED)).settle()
    world.diagnose(world.verdict(category=Category.NETWORK, culprit=None))
    world.settle()
    assert spent(world) == {BudgetClass.CRASH: 1}


def test_a_better_verdict_after_the_plan_is_counted_as_what_it_says() -> None:
    """What peers could not tell was counted as unknown, and the hang that it was read "-1 of 3 ... used"."""
    world = World().run()
    peers_tell(world, category=Category.UNKNOWN)
    assert spent(world) == {BudgetClass.UNKNOWN: 1}
    culprit = Culprit(task=world.fold.tasks["worker-1"].ref.uid)
    better = world.diagnose(world.verdict(category=Category.HANG, culprit=culprit), revision=1, answers=False)
    world.hear(world.chosen(better), world.fenced(better)).settle()
    assert spent(world) == {BudgetClass.CRASH: 1}
    assert "0 of 3 hang, network and time-out recoveries used" in world.last(RecoveryPlanned).because
    assert not [plan for plan in world.all(RecoveryPlanned) if "-1" in plan.because]


def test_a_plan_that_lasts_longer_than_the_budget_s_window_does_not_count_below_nothing() -> None:
    """An attempt that had left the window was taken off once more: "-1 of 3 unknown recoveries used"."""
    world = World().run()
    peers_tell(world, category=Category.UNKNOWN, culprit=None)
    world.now += timedelta(hours=2)
    world.hear(world.lose("worker-1", LossCause.LAUNCHER_EXITED)).settle()
    assert len(world.all(RecoveryPlanned)) == 2
    assert "; 0 of 3 unknown recoveries used" in world.last(RecoveryPlanned).because


def test_nothing_is_given_back_that_was_not_spent() -> None:
    ledger = Ledger()
    assert ledger.give_back(BudgetClass.CRASH) == ledger
    assert Ledger(spent={BudgetClass.USER: ()}).give_back(BudgetClass.USER).total == 0


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
