"""How often a job may be recovered: one sliding window per class of verdict (PROTOCOL section 5).

The ledger is a value in the job's fold, so that counts survive restarts of the stack.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import Verdict
from keepstep.contracts.model import Frozen
from keepstep.contracts.policy import Budget, RecoveryPolicy
from keepstep.contracts.taxonomy import Category

PORT_IN_USE = "port-in-use"
"""Rule of a verdict on EADDRINUSE: the next port offer cures it, so it burns nothing (PROTOCOL section 4)."""

REMEMBERED = 32
"""Recoveries kept per class; above any sensible count in one window."""


class BudgetClass(StrEnum):
    """Which window a recovery is counted in."""

    CRASH = "crash"
    UNKNOWN = "unknown"
    USER = "user"
    MEMORY = "memory"
    UNLIMITED = "unlimited"
    """Hardware and storage: counted for the job's restart limit alone."""
    UNBURNT = "unburnt"
    """Deletions, evictions, preemptions, taken ports and checkpoints that do not load: counted nowhere."""


CLASSES: dict[Category, BudgetClass] = {
    Category.HANG: BudgetClass.CRASH,
    Category.NETWORK: BudgetClass.CRASH,
    Category.COLLECTIVE_TIMEOUT: BudgetClass.CRASH,
    Category.UNKNOWN: BudgetClass.UNKNOWN,
    Category.USER_CODE: BudgetClass.USER,
    Category.USER_CONFIG: BudgetClass.USER,
    Category.DATA: BudgetClass.USER,
    Category.OOM_DEVICE: BudgetClass.MEMORY,
    Category.OOM_HOST: BudgetClass.MEMORY,
    Category.DEVICE_HARDWARE: BudgetClass.UNLIMITED,
    Category.DEVICE_DRIVER: BudgetClass.UNLIMITED,
    Category.NODE_HARDWARE: BudgetClass.UNLIMITED,
    Category.STORAGE: BudgetClass.UNLIMITED,
    Category.PREEMPTED: BudgetClass.UNBURNT,
    Category.DELETED: BudgetClass.UNBURNT,
}
"""One row per category; a test holds the table complete."""


WORDS: dict[BudgetClass, str] = {
    BudgetClass.CRASH: "hang, network and time-out",
    BudgetClass.UNKNOWN: "unknown",
    BudgetClass.USER: "code, configuration and data",
    BudgetClass.MEMORY: "out-of-memory",
}
"""Which recoveries share a budget, as a sentence says it; a test holds it complete for every class with one."""


def class_of(verdict: Verdict) -> BudgetClass:
    """Return the class whose budget a recovery from this verdict burns.

    A checkpoint that did not load is never chosen again, so as many tries as there are checkpoints are bound enough.
    """
    free = verdict.rule == PORT_IN_USE or verdict.bad_checkpoint is not None
    return BudgetClass.UNBURNT if free else CLASSES[verdict.category]


def budget_of(policy: RecoveryPolicy, kind: BudgetClass) -> Budget | None:
    """Return the budget of a class; None is without limit."""
    match kind:
        case BudgetClass.CRASH:
            return policy.crash
        case BudgetClass.UNKNOWN:
            return policy.unknown
        case BudgetClass.USER:
            return policy.user
        case BudgetClass.MEMORY:
            return policy.memory
        case BudgetClass.UNLIMITED | BudgetClass.UNBURNT:
            return None
        case other:
            assert_never(other)


class Ledger(Frozen):
    """What a job has spent: instants of recoveries per class, and how many burnt anything at all."""

    spent: dict[BudgetClass, tuple[AwareDatetime, ...]] = Field(default_factory=dict)
    total: int = 0

    def used(self, kind: BudgetClass, now: datetime, window: timedelta) -> int:
        """Return how many recoveries of the class lie in the window that ends now."""
        return sum(1 for at in self.spent.get(kind, ()) if now - at < window)

    def spend(self, kind: BudgetClass, now: datetime) -> "Ledger":
        """Return the ledger with one more recovery; an unburnt one leaves it as it is."""
        if kind is BudgetClass.UNBURNT:
            return self
        instants = (*self.spent.get(kind, ()), now)[-REMEMBERED:]
        return Ledger(spent=self.spent | {kind: instants}, total=self.total + 1)

    def give_back(self, kind: BudgetClass) -> "Ledger":
        """Return the ledger without the newest recovery of the class, which turned out to be of another."""
        instants = self.spent.get(kind, ())
        if not instants:
            return self
        return Ledger(spent=self.spent | {kind: instants[:-1]}, total=self.total - 1)
