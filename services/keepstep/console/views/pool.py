"""What concerns the whole pool: its events, statistics and first page."""

from pydantic import AwareDatetime

from keepstep.console.views.incidents import IncidentRow
from keepstep.console.views.jobs import Figures, JobRow
from keepstep.contracts.ids import EventId, IncidentId, NodeName, TaskUid
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Severity
from keepstep.contracts.topology import JobRef


class EventView(Frozen):
    """One message of the stream in a listing of events; ``cursor`` is its place in the stream."""

    cursor: int
    id: EventId
    time: AwareDatetime
    name: str
    text: str
    severity: Severity = Severity.INFO
    job: JobRef | None = None
    node: NodeName | None = None
    task: TaskUid | None = None
    generation: int | None = None
    incident: IncidentId | None = None


class Counted(Frozen):
    """So many of a kind, and when the last of it was."""

    name: str
    count: int
    last: AwareDatetime | None = None


class JobCount(Frozen):
    """So many faults and incidents of a job."""

    job: JobRef
    faults: int
    incidents: int
    last_fault: AwareDatetime | None = None


class Statistics(Frozen):
    """Counts over all that the stream holds; the same after a restart."""

    faults: int = 0
    """Causes: what one verdict takes together is one, however many ranks it brought down."""
    detections: int = 0
    """Faults as they were detected, of every rank that suffered."""
    last_fault: AwareDatetime | None = None
    by_source: tuple[Counted, ...] = ()
    by_category: tuple[Counted, ...] = ()
    """Incidents, by what their last verdict says."""
    by_level: tuple[Counted, ...] = ()
    """Recoveries that were planned."""
    by_outcome: tuple[Counted, ...] = ()
    by_job: tuple[JobCount, ...] = ()
    """The jobs that are kept, most faults first."""
    jobs: int = 0
    """Ever seen, those that are no longer kept included."""
    incidents: int = 0
    figures: Figures = Figures()


class Overview(Frozen):
    """The first page."""

    pool: str
    jobs: dict[str, int]
    """By state."""
    running: int = 0
    open_incidents: int = 0
    isolated_nodes: int = 0
    lost_nodes: int = 0
    """That the cluster does not have ready, with tasks or without."""
    active_faults: int = 0
    paused: bool = False
    blind: str = ""
    """Why the detector takes itself for blind; empty while it sees."""
    ettr: float | None = None
    """Productive over wall time of all jobs that are kept."""
    figures: Figures = Figures()
    newest: tuple[IncidentRow, ...] = ()
    """Open incidents first, then the newest closed; ten at most."""
    job_rows: tuple[JobRow, ...] = ()
    """Jobs that have not ended, newest first; twenty at most."""
    caught_up: bool = True
    """False while the console still reads what the stream holds."""
    connected: bool = True
    unreadable: int = 0
    """Messages that this version does not understand, which nothing shows."""


class EventListing(Frozen):
    """A part of the events, newest first; ``next`` is the cursor to ask for older ones with, None at the end.

    A search looks at so many messages at a time. A listing that is shorter than was asked for, or empty, and has a
    ``next``, is of the messages down to that cursor alone.
    """

    items: tuple[EventView, ...]
    next: int | None = None
    since: AwareDatetime | None = None
    """When the oldest message was said that was looked at beyond those at hand."""
    caught_up: bool = True
    """False while the console still reads what the stream holds: the newest may be missing."""
