"""Events that the diagnoser says."""

from pydantic import AwareDatetime, Field

from keepstep.contracts.ids import EventId
from keepstep.contracts.message import Event
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import Culprit


class Verdict(Frozen):
    """What went wrong, who is to blame, and what may be done about it."""

    category: Category
    culprit: Culprit | None = None
    retriable: bool = True
    isolate: bool = False
    confidence: float = Field(ge=0, le=1)
    because: str
    rule: str
    signature: str = ""
    """What makes two failures the same one: the traceback's last line, the exit, the rule."""
    step: int | None = None
    """Last completed step before the fault, as far as known."""
    bad_checkpoint: int | None = None
    """Step of a checkpoint that did not load."""


class IncidentOpened(Event):
    """The first fault of a job opened its incident."""

    fault: EventId
    because: str
    group: str | None = None
    """Always None: what incidents share is known with their verdicts, from the isolator's answers on."""


class IncidentOverdue(Event):
    """An incident is open past the sum of its recovery's deadlines: a person must look."""

    opened: AwareDatetime
    because: str


class FaultDiagnosed(Event):
    """The verdict on the incident's attempt; a revision replaces it until RecoveryStarted."""

    verdict: Verdict
    attempt: int = 1
    revision: int = 0
    faults: tuple[EventId, ...]
    occurred: AwareDatetime
    detected: AwareDatetime
    settle_s: float = 0.0
