"""Jobs as the console shows them: state, fault-tolerance events, ranks and steps."""

from enum import StrEnum

from pydantic import AwareDatetime

from keepstep.console.views.faults import FaultView
from keepstep.console.views.incidents import IncidentRow
from keepstep.contracts.ids import IncidentId, JobUid, NodeName
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Phase, Severity
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.core.ettr import Ratio
from keepstep.core.saving import Saved


class RankState(StrEnum):
    """How a rank stands, for the colour of its cell."""

    STEPPING = "stepping"
    """Heard, and in a step."""
    BUSY = "busy"
    """Heard, and starting, loading, compiling, evaluating or saving."""
    STALLED = "stalled"
    """Called so by a fault that is open."""
    EXITED = "exited"
    SILENT = "silent"
    """Its agent was not heard for ten seconds, or never by this console."""
    ENDED = "ended"
    """Its job is over."""


class ToleranceEvent(Frozen):
    """One line of a job's fault-tolerance event list; the same reason and message again are one line, counted."""

    reason: str
    """Name of the message, as ``FaultDetected``."""
    message: str
    severity: Severity
    first: AwareDatetime
    last: AwareDatetime
    count: int
    incident: IncidentId | None = None


class RankView(Frozen):
    """One cell of the rank grid."""

    rank: int
    state: RankState
    task: str
    node: NodeName
    step: int | None = None
    estimated: bool = False
    phase: Phase | None = None
    step_s: float | None = None
    """Median duration of its recent steps."""
    because: str = ""
    """Why it stands so, where there is more to say than its state."""


class StepPoint(Frozen):
    """Where the job stood at a moment: the step that all its ranks have done, and its loss where the script told it."""

    at: AwareDatetime
    step: int
    loss: float | None = None


class Figures(Frozen):
    """Means over incidents that resumed, in seconds; None where none did."""

    incidents: int = 0
    resumed: int = 0
    mttd_s: float | None = None
    """Mean time from the fault to its detection."""
    mttr_s: float | None = None
    """Mean time from the fault until the job had caught up."""
    lost_steps: int = 0


class JobRow(Frozen):
    """A job in a listing."""

    ref: JobRef
    state: str
    """One of ``core.job_now.JobState``, which pages translate by it."""
    paused: bool = False
    because: str = ""
    generation: int = 0
    step: int | None = None
    steps_per_s: float | None = None
    tasks: int = 0
    ranks: int = 0
    since: AwareDatetime | None = None
    ended: AwareDatetime | None = None
    incidents: int = 0
    open_incidents: int = 0
    last_fault: AwareDatetime | None = None
    ettr: float | None = None
    """Effective training time over wall time, 0 to 1; None before the job was accepted."""


class JobView(JobRow):
    """One job with all that is kept of it."""

    spec: JobSpec | None = None
    """As it may be shown: addresses of routes masked, the values of ``env`` hidden."""
    ratio: Ratio | None = None
    figures: Figures = Figures()
    tolerance: tuple[ToleranceEvent, ...] = ()
    """The fault-tolerance event list, the newest line last."""
    tolerance_total: int = 0
    """How many there were, those that were folded into one line or dropped included."""
    incident_rows: tuple[IncidentRow, ...] = ()
    """The newest ten, newest first; ``incidents`` counts all."""
    grid: tuple[RankView, ...] = ()
    """By rank; the first 4096."""
    points: tuple[StepPoint, ...] = ()
    """At most 240, thinned as the job grows older."""
    checkpoint: Saved | None = None
    """The one that was whole last, and how long it took."""
    faults: tuple[FaultView, ...] = ()
    """Faults that are active and hurt it."""
    warnings: tuple[str, ...] = ()
    """What was taken over otherwise than it was written."""


class JobListing(Frozen):
    """A part of the jobs; ``next`` asks for what follows, None at the end."""

    items: tuple[JobRow, ...]
    total: int
    next: JobUid | None = None
