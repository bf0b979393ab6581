"""Incidents as the console shows them: verdict, evidence, what followed from the first cause, decisions, accounts."""

from pydantic import AwareDatetime

from keepstep.contracts.events import Accounts, Verdict
from keepstep.contracts.ids import IncidentId, NodeName
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.contracts.topology import JobRef
from keepstep.core.awaiting import Awaited
from keepstep.core.stages import Entry, Stage


class IncidentRow(Frozen):
    """An incident in a listing."""

    incident: IncidentId
    job: JobRef | None = None
    node: NodeName | None = None
    opened: AwareDatetime
    occurred: AwareDatetime
    closed: AwareDatetime | None = None
    category: Category | None = None
    outcome: Outcome | None = None
    """None while it is open."""
    who: str = "nobody"
    because: str = ""
    levels: tuple[Level, ...] = ()
    attempts: int = 0
    lost_steps: int | None = None
    wall_s: float = 0.0
    """Fault to caught up; of an open one up to the last that was heard."""
    acknowledged: str | None = None
    """Who looks after it."""
    overdue: bool = False
    group: str | None = None
    """Incidents with the same one share a cause."""
    waits: Awaited | None = None
    """What an open one waits for; None in the listing of one job's."""


class StackGroup(Frozen):
    """Ranks whose stacks are the same; innermost frames first."""

    ranks: tuple[int, ...]
    frames: tuple[str, ...]


class EvidenceView(Frozen):
    """One fault that the incident is made of, or evidence that was captured for it."""

    at: AwareDatetime
    subject: str
    kind: str
    """Of ``contracts.events.Evidence``, or ``stack`` and ``log_tail``."""
    text: str
    lines: tuple[str, ...] = ()
    """What a rank printed last."""
    blamed: bool = False
    """It is of the culprit."""


class CascadeLine(Frozen):
    """What followed from the first cause, folded: so many ranks said or did the same."""

    text: str
    count: int
    subjects: tuple[str, ...]
    """At most twenty of them."""
    first: AwareDatetime


class DecisionView(Frozen):
    """A decision with the sentence that gives its reason."""

    at: AwareDatetime
    what: str
    sentence: str


class IncidentView(IncidentRow):
    """One incident with all that is kept of it."""

    attempt_verdicts: tuple[Verdict, ...] = ()
    """The verdict of each attempt, the newest last; a revision replaces its attempt's."""
    stages: tuple[Stage, ...] = ()
    """Where the seconds went, in order; they add up to ``wall_s``. Empty while it is open."""
    accounts: Accounts | None = None
    estimated: bool = False
    evidence: tuple[EvidenceView, ...] = ()
    stacks: tuple[StackGroup, ...] = ()
    cascade: tuple[CascadeLine, ...] = ()
    decisions: tuple[DecisionView, ...] = ()
    last_lines: tuple[str, ...] = ()
    """What the culprit printed last."""
    entries: tuple[Entry, ...] = ()
    """Everything that was said in it, oldest first."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that stands, None before the first."""
        return self.attempt_verdicts[-1] if self.attempt_verdicts else None


class IncidentListing(Frozen):
    """A part of the incidents, newest first; ``next`` asks for what follows, None at the end."""

    items: tuple[IncidentRow, ...]
    total: int
    next: IncidentId | None = None
