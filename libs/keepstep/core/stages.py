"""Where an incident's wall time went: its accounts as stages, or its milestones where it did not resume."""

from collections.abc import Iterable
from datetime import datetime

from pydantic import AwareDatetime

from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId
from keepstep.contracts.model import Frozen


class Entry(Frozen):
    """One line: what was said, by which message, when."""

    id: EventId
    at: AwareDatetime
    what: str
    text: str


class Stage(Frozen):
    """Where a part of the wall time went."""

    name: str
    seconds: float


STAGES = ("detect", "decide", "isolate", "people", "reschedule", "init", "load", "first_step", "recompute")
"""Of an incident that resumed, in the order in which they happen."""


def stages_of(accounts: e.Accounts) -> tuple[Stage, ...]:
    """Return the accounts as stages; a wait for people only where there was one."""
    names = (name for name in STAGES if name != "people" or accounts.people_s)
    return tuple(Stage(name=name, seconds=getattr(accounts, f"{name}_s")) for name in names)


CUTS = (
    ("detect", "FaultDetected"),
    ("decide", "FaultDiagnosed"),
    ("plan", "RecoveryPlanned"),
    ("restart", "RanksStarted"),
)
"""Of an incident that did not resume: each stage, and the message that ended it."""
UNTIL_CLOSED = "until_closed"
"""What is left of such an incident."""


def milestones(entries: Iterable[Entry], occurred: datetime, end: datetime, *, rest: str) -> tuple[Stage, ...]:
    """Cut occurred..end at the first message of each kind; kinds that were not said take no time.

    Later attempts lie in the ``rest``: their faults were not detected late, they happened late.
    """
    first: dict[str, datetime] = {}
    for entry in entries:
        first[entry.what] = min(entry.at, first.get(entry.what, entry.at))
    stages, before = [], occurred
    for name, kind in CUTS:
        at = min(max(before, first.get(kind, before)), end)
        stages.append(Stage(name=name, seconds=max(0.0, (at - before).total_seconds())))
        before = max(before, at)
    return (*stages, Stage(name=rest, seconds=max(0.0, (end - before).total_seconds())))
