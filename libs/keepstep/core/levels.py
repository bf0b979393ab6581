"""Which level a recovery takes: configured by the job, supported, allowed by budgets; mildest first (PROTOCOL 5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from keepstep.contracts.events import Verdict
from keepstep.contracts.policy import Budget, RecoveryPolicy
from keepstep.contracts.taxonomy import Category, Level
from keepstep.core.budgets import PORT_IN_USE, WORDS, BudgetClass, budget_of, class_of
from keepstep.core.sentences import counted

LADDER = (Level.WAIT, Level.IN_PLACE, Level.POD, Level.JOB, Level.FAIL)

INSTANT_TRIES = 2
"""Recoveries from all tasks failing within seconds of their start: a second one rules out luck."""


@dataclass(frozen=True)
class Situation:
    """Everything the choice depends on."""

    verdict: Verdict
    policy: RecoveryPolicy
    supported: frozenset[Level] = frozenset(LADDER)
    refused: Mapping[Level, str] = field(default_factory=dict)
    """Why the job's own controller rules a level out, with what would help."""
    used: int = 0
    """Recoveries of the verdict's class in its window."""
    total: int = 0
    """Recoveries of the job that burnt a budget."""
    failed: frozenset[Level] = frozenset()
    """Levels that failed in this incident."""
    rank0: bool = False
    """A task to be replaced holds rank 0."""
    hurt_rank0: bool = False
    """The task to blame holds rank 0."""
    gone: str = ""
    """Why a task cannot be kept: it is gone, cannot be reaped or does not answer; "" when all can."""
    named: bool = True
    """It is known which task to replace."""
    repeated: bool = False
    """The same signature at the same step, without progress since."""
    instant_failures: int = 0
    """How often in a row all tasks failed within seconds of their start."""
    no_replace: str = ""
    """Why this framework cannot take a replaced task, or ""."""


@dataclass(frozen=True)
class Choice:
    """The level and the sentence that says why."""

    level: Level
    because: str


def choose(situation: Situation) -> Choice:
    """Return the mildest level that is allowed and can work, FAIL when none is."""
    end = _end(situation)
    if end:
        return Choice(Level.FAIL, end)
    first, because = first_level(situation)
    skipped: list[str] = []
    for level in LADDER[LADDER.index(first) : -1]:
        obstacle = _obstacle(level, situation)
        if not obstacle:
            return Choice(level, "; ".join([because, *skipped]))
        skipped.append(f"not {level}: {obstacle}")
    return Choice(Level.FAIL, "; ".join([because, *skipped]))


def _end(situation: Situation) -> str:
    """Return why no recovery is tried at all, or ""; the verdict's own sentence follows it."""
    policy, verdict = situation.policy, situation.verdict
    kind = class_of(verdict)
    if not policy.enabled:
        return f"recovery.enabled is false and {verdict.category} stopped the job"
    if not verdict.retriable:
        return f"{verdict.category} is not worth a retry"
    if kind is BudgetClass.USER and situation.repeated:
        at = "" if verdict.step is None else f" at step {verdict.step}"
        return f"the same failure again{at} without progress"
    if kind is not BudgetClass.UNBURNT and policy.restart_limit is not None and situation.total >= policy.restart_limit:
        return f"{counted(situation.total, 'recovery')} of this job, recovery.restart_limit is {policy.restart_limit}"
    if situation.instant_failures > INSTANT_TRIES:
        limit = policy.instant_failure.total_seconds()
        times = counted(situation.instant_failures, "time")
        return f"all tasks failed within {limit:g} s of their start {times} in a row"
    return ""


def first_level(situation: Situation) -> tuple[Level, str]:
    """Return the level the verdict starts with, after what its budget has left."""
    level = _by_category(situation.verdict)
    kind = class_of(situation.verdict)
    budget = budget_of(situation.policy, kind)
    because = f"{situation.verdict.category} starts at {level}"
    if budget is None:
        return level, because
    climbed = _climb(level, budget, situation.used)
    return climbed, f"{because}; {_spent(situation.used, budget, f'{WORDS[kind]} recovery')}"


def _spent(used: int, budget: Budget, noun: str) -> str:
    """Return what is spent of a budget, in words; one that was used up begins again one level higher."""
    window = f"used in {budget.window.total_seconds():g} s"
    if used <= budget.count:
        return f"{counted(used, noun, of=budget.count)} {window}"
    return f"{counted(used, noun)} {window}, {budget.count} for each level"


def _by_category(verdict: Verdict) -> Level:
    """Return the table's first level; a taken port or a bad checkpoint keeps the task."""
    if verdict.rule == PORT_IN_USE or verdict.bad_checkpoint is not None:
        return Level.IN_PLACE
    match verdict.category:
        case (
            Category.DEVICE_HARDWARE
            | Category.DEVICE_DRIVER
            | Category.NODE_HARDWARE
            | Category.PREEMPTED
            | Category.DELETED
        ):
            return Level.POD
        case Category.STORAGE:
            return Level.WAIT
        case (
            Category.USER_CODE
            | Category.USER_CONFIG
            | Category.DATA
            | Category.OOM_DEVICE
            | Category.OOM_HOST
            | Category.NETWORK
            | Category.COLLECTIVE_TIMEOUT
            | Category.HANG
            | Category.UNKNOWN
        ):
            return Level.IN_PLACE
        case other:
            assert_never(other)


def _climb(first: Level, budget: Budget, used: int) -> Level:
    """Return the level after ``used`` recoveries: every ``count`` of them go one up, first to ``budget.then``."""
    rungs = [first, *LADDER[LADDER.index(budget.then) :]]
    rounds = used // budget.count if budget.count else 1
    return rungs[min(rounds, len(rungs) - 1)]


def _obstacle(level: Level, situation: Situation) -> str:
    """Return why this level cannot be taken, or ""."""
    if closed := _closed(level, situation):
        return closed
    match level:
        case Level.WAIT:
            return situation.gone
        case Level.IN_PLACE:
            return _in_place_obstacle(situation)
        case Level.POD:
            return _pod_obstacle(situation)
        case Level.JOB | Level.FAIL:
            return ""
        case other:
            assert_never(other)


def _closed(level: Level, situation: Situation) -> str:
    """Return why the job, the cluster or this incident's past rules the level out, or ""."""
    if level not in situation.policy.levels:
        return "recovery.levels leaves it out"
    if level is not Level.WAIT and level not in situation.supported:
        return situation.refused.get(level, "the cluster cannot do it")
    if any(LADDER.index(level) <= LADDER.index(tried) for tried in situation.failed):
        return "it failed in this incident, or a stronger one did"
    return ""


def _in_place_obstacle(situation: Situation) -> str:
    if situation.gone:
        return situation.gone
    if situation.verdict.isolate:
        return "the verdict takes the node out"
    if situation.hurt_rank0 and not situation.policy.rank0_in_place:
        return "rank 0 is hurt and recovery.rank0_in_place is false"
    return ""


def _pod_obstacle(situation: Situation) -> str:
    if not situation.named:
        return "no task is named to be replaced"
    if situation.rank0:
        return "the task to be replaced holds rank 0"
    return situation.no_replace
