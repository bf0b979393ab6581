"""What the choice of a level depends on, read out of the fold: who is hurt, what is spent, what can be kept."""

from dataclasses import replace

from keepstep.contracts.events import Verdict
from keepstep.contracts.taxonomy import Level
from keepstep.core.budgets import BudgetClass, budget_of, class_of
from keepstep.core.levels import Situation, first_level
from keepstep.scheduler_adapter.core.recovery import Recovery
from keepstep.scheduler_adapter.core.state import Failure, JobState
from keepstep.scheduler_adapter.core.turn import Turn

REPLACE_TORCH = (2, 0, 0)
REPLACE_PYTHON = (3, 8, 0)
"""Replacing one task under a framework needs these (DESIGN section 5)."""


def situation(turn: Turn) -> Situation:
    """Return what the choice of a level depends on, out of the fold."""
    state, recovery = turn.state, turn.recovery
    policy = turn.spec.policy.recovery
    kind, before = class_of(recovery.verdict), state.ledger.give_back(charged(turn))
    again = recovery.burnt >= recovery.attempt
    budget = budget_of(policy, kind)
    known = Situation(
        verdict=recovery.verdict,
        policy=policy,
        supported=turn.supports if state.controlled is None else turn.supports & state.controlled.levels,
        refused=_refused(state),
        used=before.used(kind, turn.now, budget.window) if budget else 0,
        total=before.total,
        failed=recovery.failed,
        hurt_rank0=_holds_rank0(state, blamed(state, recovery.verdict)),
        gone="; ".join(_unusable(state)),
        repeated=_repeated(state.failures, recovery.verdict) and not again,
        instant_failures=state.instant_failures + (0 if again else instant(turn)),
        no_replace=_no_replace(state),
    )
    names = replaced(state, recovery, known)
    return replace(known, named=bool(names), rank0=_holds_rank0(state, names))


def _refused(state: JobState) -> dict[Level, str]:
    """Return why the job's own controller rules levels out."""
    refusals = state.controlled.refusals if state.controlled is not None else ()
    return {each.level: f"{each.because} ({each.remedy})" for each in refusals}


def _holds_rank0(state: JobState, names: frozenset[str]) -> bool:
    return any(state.tasks[name].ref.index == 0 for name in names)


def charged(turn: Turn) -> BudgetClass:
    """Return as what this attempt is in the ledger: choosing again must not count it against itself."""
    recovery = turn.recovery
    if recovery.burnt < recovery.attempt:
        return BudgetClass.UNBURNT
    return recovery.burnt_as or recovery.explained or class_of(recovery.verdict)


def replaced(state: JobState, recovery: Recovery, known: Situation) -> frozenset[str]:
    """Return the names of the tasks that level pod replaces: those not usable, and the culprit's unless it may stay."""
    unusable = frozenset(name for name, task in state.tasks.items() if task.lost is not None or task.unfit)
    may_stay = first_level(known)[0] in (Level.WAIT, Level.IN_PLACE)
    if unusable and may_stay and not (recovery.condemned or recovery.verdict.isolate):
        return unusable
    return unusable | blamed(state, recovery.verdict)


def blamed(state: JobState, verdict: Verdict) -> frozenset[str]:
    """Return the names of the current tasks that the verdict's culprit points at, most precise word first."""
    culprit = verdict.culprit
    if culprit is None:
        return frozenset()
    if culprit.task is not None:
        return frozenset(name for name, task in state.tasks.items() if task.ref.uid == culprit.task)
    if culprit.rank is not None:
        index = culprit.rank // state.specified().nproc
        return frozenset(name for name, task in state.tasks.items() if task.ref.index == index)
    return frozenset(name for name, task in state.tasks.items() if task.node == culprit.node)


def _unusable(state: JobState) -> list[str]:
    lost = [f"{task.ref.name} is gone ({task.lost.by})" for task in state.tasks.values() if task.lost is not None]
    return lost + [f"{task.ref.name} {task.unfit}" for task in state.tasks.values() if task.unfit]


def _repeated(failures: tuple[Failure, ...], verdict: Verdict) -> bool:
    """Tell whether the same signature failed at this step or a later one before: no progress since."""
    step = -1 if verdict.step is None else verdict.step
    return any(
        failure.signature == verdict.signature and step <= (-1 if failure.step is None else failure.step)
        for failure in failures
    )


def instant(turn: Turn) -> int:
    """Return 1 when every task lost a rank within seconds of its start and none made a step."""
    limit = turn.spec.policy.recovery.instant_failure.total_seconds()
    failed = {
        rank // turn.spec.nproc
        for rank, exit_ in turn.state.exits.items()
        if not exit_.success and exit_.ran_s <= limit
    }
    return int(turn.state.marks is None and len(failed) == turn.spec.nodes)


def _no_replace(state: JobState) -> str:
    for task in state.tasks.values():
        if task.versions is None or task.versions.torch is None:
            continue
        if _release(task.versions.torch) < REPLACE_TORCH:
            return f"replacing a task needs torch >= 2.0.0, {task.ref.name} has {task.versions.torch}"
        if _release(task.versions.python) < REPLACE_PYTHON:
            return f"replacing a task needs Python >= 3.8.0, {task.ref.name} has {task.versions.python}"
    return ""


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version up to its first other character: ``2.13.0+cpu`` is (2, 13, 0)."""
    numbers = []
    for part in version.split("+", maxsplit=1)[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        numbers.append(int(digits or 0))
        if digits != part:
            break
    return (*numbers, 0, 0, 0)[:3]
