"""Verdict x support x budget x level failures -> next action, row by row of PROTOCOL section 5."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from keepstep.contracts.events import Verdict
from keepstep.contracts.policy import Budget, RecoveryPolicy
from keepstep.contracts.taxonomy import Category, Level
from keepstep.core.budgets import CLASSES, PORT_IN_USE, WORDS, BudgetClass, Ledger, budget_of, class_of
from keepstep.core.levels import LADDER, Choice, Situation, choose

START = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = RecoveryPolicy()
WAIT, IN_PLACE, POD, JOB, FAIL = LADDER
EVERY = frozenset(Level)


def verdict(category: Category, **changes: object) -> Verdict:
    fields: dict[str, object] = {"category": category, "confidence": 1, "because": "b", "rule": "r"}
    return Verdict.model_validate(fields | changes)


FIRST = {
    Category.USER_CODE: IN_PLACE,
    Category.USER_CONFIG: IN_PLACE,
    Category.DATA: IN_PLACE,
    Category.OOM_DEVICE: IN_PLACE,
    Category.OOM_HOST: IN_PLACE,
    Category.DEVICE_HARDWARE: POD,
    Category.DEVICE_DRIVER: POD,
    Category.NODE_HARDWARE: POD,
    Category.NETWORK: IN_PLACE,
    Category.STORAGE: WAIT,
    Category.COLLECTIVE_TIMEOUT: IN_PLACE,
    Category.HANG: IN_PLACE,
    Category.PREEMPTED: POD,
    Category.DELETED: POD,
    Category.UNKNOWN: IN_PLACE,
}


def test_every_category_has_a_class_and_a_first_level() -> None:
    assert set(CLASSES) == set(FIRST) == set(Category)


@pytest.mark.parametrize("category", list(Category))
def test_a_verdict_starts_at_its_first_level(category: Category) -> None:
    assert choose(Situation(verdict(category), POLICY)).level is FIRST[category]


SPENT = [
    (Category.UNKNOWN, [IN_PLACE] * 3 + [FAIL] * 4),
    (Category.HANG, [IN_PLACE] * 3 + [POD] * 3 + [JOB] * 3 + [FAIL]),
    (Category.NETWORK, [IN_PLACE] * 3 + [POD] * 3 + [JOB] * 3 + [FAIL]),
    (Category.COLLECTIVE_TIMEOUT, [IN_PLACE] * 3 + [POD] * 3 + [JOB] * 3 + [FAIL]),
    (Category.USER_CODE, [IN_PLACE] * 2 + [FAIL]),
    (Category.USER_CONFIG, [IN_PLACE] * 2 + [FAIL]),
    (Category.DATA, [IN_PLACE] * 2 + [FAIL]),
    (Category.OOM_HOST, [IN_PLACE] * 2 + [FAIL]),
    (Category.OOM_DEVICE, [IN_PLACE] * 2 + [FAIL]),
    (Category.NODE_HARDWARE, [POD] * 20),
    (Category.DELETED, [POD] * 20),
]


@pytest.mark.parametrize(("category", "levels"), SPENT)
def test_a_spent_budget_climbs_and_ends(category: Category, levels: list[Level]) -> None:
    got = [choose(Situation(verdict(category), POLICY, used=used)).level for used in range(len(levels))]
    assert got == levels


@pytest.mark.parametrize(
    ("category", "failed", "level"),
    [
        (Category.UNKNOWN, {IN_PLACE}, POD),
        (Category.UNKNOWN, {IN_PLACE, POD}, JOB),
        (Category.UNKNOWN, {JOB}, FAIL),
        (Category.NODE_HARDWARE, {POD}, JOB),
        (Category.STORAGE, {WAIT}, IN_PLACE),
        (Category.STORAGE, {WAIT, IN_PLACE}, POD),
    ],
)
def test_a_failed_level_is_followed_by_the_next(category: Category, failed: set[Level], level: Level) -> None:
    assert choose(Situation(verdict(category), POLICY, failed=frozenset(failed))).level is level


OBSTACLES = [
    ({"gone": "worker-1 is gone"}, POD),
    ({"gone": "worker-1 is gone", "rank0": True}, JOB),
    ({"rank0": True}, IN_PLACE),
    ({"rank0": True, "hurt_rank0": True, "policy": RecoveryPolicy(rank0_in_place=False)}, JOB),
    ({"hurt_rank0": True, "policy": RecoveryPolicy(rank0_in_place=False)}, POD),
    ({"supported": EVERY - {IN_PLACE}}, POD),
    ({"supported": EVERY - {IN_PLACE, POD}}, JOB),
    ({"supported": frozenset[Level]()}, FAIL),
    ({"supported": EVERY - {IN_PLACE}, "named": False}, JOB),
    ({"supported": EVERY - {IN_PLACE}, "no_replace": "torch 1.13"}, JOB),
    ({"policy": RecoveryPolicy(levels=(POD, JOB))}, POD),
    ({"policy": RecoveryPolicy(levels=(IN_PLACE, POD)), "failed": frozenset({POD})}, FAIL),
    ({"policy": RecoveryPolicy(levels=(IN_PLACE,)), "gone": "worker-1 is gone"}, FAIL),
    ({"policy": RecoveryPolicy(enabled=False)}, FAIL),
    ({"policy": RecoveryPolicy(restart_limit=4), "total": 3}, IN_PLACE),
    ({"policy": RecoveryPolicy(restart_limit=4), "total": 4}, FAIL),
    ({"policy": RecoveryPolicy(unknown=Budget(count=0, then=POD))}, POD),
    ({"instant_failures": 2}, IN_PLACE),
    ({"instant_failures": 3}, FAIL),
]


@pytest.mark.parametrize(("changes", "level"), OBSTACLES)
def test_what_stands_in_the_way_of_a_restart_in_place(changes: dict[str, object], level: Level) -> None:
    fields: dict[str, object] = {"verdict": verdict(Category.UNKNOWN), "policy": POLICY}
    assert choose(Situation(**(fields | changes))).level is level  # type: ignore[arg-type]  # what a row changes is any of the fields


def test_a_verdict_that_isolates_never_stays_in_place() -> None:
    assert choose(Situation(verdict(Category.UNKNOWN, isolate=True), POLICY)).level is POD


@pytest.mark.parametrize("category", [Category.USER_CODE, Category.USER_CONFIG, Category.DATA])
def test_the_users_own_failure_repeated_without_progress_ends_the_job(category: Category) -> None:
    again = Situation(verdict(category, signature="KeyError: 'x'", step=7), POLICY, repeated=True)
    assert choose(again) == Choice(FAIL, "the same failure again at step 7 without progress")


def test_a_repeat_before_the_first_step_names_no_step() -> None:
    again = Situation(verdict(Category.USER_CODE, signature="KeyError: 'x'"), POLICY, repeated=True)
    assert choose(again).because == "the same failure again without progress"


@pytest.mark.parametrize("category", list(Category))
def test_what_is_not_retriable_ends_the_job_at_once(category: Category) -> None:
    choice = choose(Situation(verdict(category, retriable=False), POLICY))
    assert choice == Choice(FAIL, f"{category} is not worth a retry")


def test_a_repeat_of_something_else_does_not_end_the_job() -> None:
    assert choose(Situation(verdict(Category.UNKNOWN), POLICY, repeated=True)).level is IN_PLACE


def test_a_taken_port_and_a_bad_checkpoint_keep_their_places() -> None:
    taken = verdict(Category.NETWORK, rule=PORT_IN_USE)
    broken = verdict(Category.STORAGE, bad_checkpoint=20)
    assert choose(Situation(taken, RecoveryPolicy(restart_limit=0), used=99)).level is IN_PLACE
    assert choose(Situation(broken, POLICY)).level is IN_PLACE


def test_the_choice_names_what_it_passed_over() -> None:
    choice = choose(Situation(verdict(Category.UNKNOWN), POLICY, gone="worker-1 is gone", used=1))
    assert choice == Choice(
        POD,
        "unknown starts at in-place; 1 of 3 unknown recoveries used in 3600 s; not in-place: worker-1 is gone",
    )


@pytest.mark.parametrize(
    ("category", "words"),
    [
        (Category.HANG, "0 of 3 hang, network and time-out recoveries used in 3600 s"),
        (Category.DATA, "0 of 2 code, configuration and data recoveries used in"),
        (Category.OOM_HOST, "0 of 2 out-of-memory recoveries used in"),
    ],
)
def test_a_budget_is_named_by_the_faults_that_share_it(category: Category, words: str) -> None:
    assert words in choose(Situation(verdict(category), POLICY)).because


SUBSETS = [frozenset(some) for count in range(5) for some in itertools.combinations(LADDER[:-1], count)]


@pytest.mark.parametrize("category", list(Category))
def test_no_choice_is_ever_forbidden_failed_or_milder_than_its_row(category: Category) -> None:
    for levels, failed in itertools.product(SUBSETS, SUBSETS):
        level = choose(Situation(verdict(category), RecoveryPolicy(levels=tuple(levels)), failed=failed)).level
        if level is not FAIL:
            assert level in levels
            assert LADDER.index(level) >= LADDER.index(FIRST[category])
            assert all(LADDER.index(level) > LADDER.index(tried) for tried in failed)


@pytest.mark.parametrize("kind", list(BudgetClass))
def test_only_counted_classes_have_a_budget(kind: BudgetClass) -> None:
    free = kind in (BudgetClass.UNLIMITED, BudgetClass.UNBURNT)
    assert (budget_of(POLICY, kind) is None) == free
    assert (kind not in WORDS) == free


def test_an_unburnt_recovery_leaves_no_trace() -> None:
    assert class_of(verdict(Category.DELETED)) is BudgetClass.UNBURNT
    assert class_of(verdict(Category.STORAGE, bad_checkpoint=20)) is BudgetClass.UNBURNT
    assert Ledger().spend(BudgetClass.UNBURNT, START) == Ledger()


def test_a_window_forgets_what_is_older_than_it() -> None:
    ledger = Ledger().spend(BudgetClass.CRASH, START).spend(BudgetClass.CRASH, START + timedelta(minutes=30))
    hour = timedelta(hours=1)
    assert ledger.used(BudgetClass.CRASH, START + timedelta(minutes=59), hour) == 2
    assert ledger.used(BudgetClass.CRASH, START + timedelta(minutes=60), hour) == 1
    assert ledger.used(BudgetClass.USER, START, hour) == 0
    assert ledger.total == 2


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (3, "3 of 3 hang, network and time-out recoveries used in 3600 s"),
        (6, "6 hang, network and time-out recoveries used in 3600 s, 3 for each level"),
    ],
)
def test_a_budget_is_never_told_to_be_used_more_than_there_is_of_it(used: int, words: str) -> None:
    assert words in choose(Situation(verdict(Category.HANG), POLICY, used=used)).because
