"""What a recovery costs the job's budgets: each attempt once, as what it turned out to be (PROTOCOL section 5)."""

from collections.abc import Mapping

from keepstep.contracts.taxonomy import LossCause
from keepstep.core.budgets import BudgetClass, class_of
from keepstep.scheduler_adapter.core.recovery import Joining, Stopping, Waiting
from keepstep.scheduler_adapter.core.situation import blamed, charged, instant
from keepstep.scheduler_adapter.core.state import Failure
from keepstep.scheduler_adapter.core.task import Task
from keepstep.scheduler_adapter.core.turn import Turn

FAILURES_KEPT = 8

EXPLAINS: Mapping[LossCause, BudgetClass] = {
    LossCause.DELETED: BudgetClass.UNBURNT,
    LossCause.EVICTED: BudgetClass.UNBURNT,
    LossCause.PREEMPTED: BudgetClass.UNBURNT,
    LossCause.NODE_LOST: BudgetClass.UNLIMITED,
}
"""Losses that are nobody's crash, and how a recovery from them counts."""
HEARSAY = frozenset({BudgetClass.CRASH, BudgetClass.UNKNOWN})
"""What peers, silence and bare exits tell of a task that went: its loss, told later, says why."""


def burn(turn: Turn) -> None:
    """Count this attempt once, whatever number of levels it takes, and anew where a better verdict says what it was."""
    recovery, state = turn.recovery, turn.state
    verdict = recovery.verdict
    kind, again = recovery.explained or class_of(verdict), recovery.burnt >= recovery.attempt
    if again and charged(turn) is kind:
        return
    failures = state.failures
    if kind is BudgetClass.USER:
        failures = (*failures, Failure(signature=verdict.signature, step=verdict.step))[-FAILURES_KEPT:]
    ledger = state.ledger.give_back(charged(turn)).spend(kind, turn.now)
    turn.put(ledger=ledger, failures=failures)
    if not again:
        turn.put(instant_failures=state.instant_failures + instant(turn) if instant(turn) else 0)
    turn.recover(burnt=recovery.attempt, burnt_as=kind)


def explain(turn: Turn, task: Task, by: LossCause) -> None:
    """Count the attempt under way as the loss that was told after its verdict, where that is what the verdict saw."""
    recovery, kind = turn.state.recovery, EXPLAINS.get(by)
    if recovery is None or kind is None or not isinstance(recovery.stage, Joining | Waiting | Stopping):
        return
    verdict = recovery.verdict
    names = blamed(turn.state, verdict)
    if recovery.explained or class_of(verdict) not in HEARSAY or (verdict.culprit and task.ref.name not in names):
        return
    if recovery.burnt >= recovery.attempt:
        turn.put(ledger=turn.state.ledger.give_back(charged(turn)).spend(kind, turn.now))
        turn.recover(burnt_as=kind)
    turn.recover(explained=kind)
