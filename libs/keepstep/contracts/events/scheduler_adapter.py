"""Events that the scheduler-adapter says: the life of a job and the course of a recovery."""

from pydantic import AwareDatetime

from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.message import Event
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome, Service
from keepstep.contracts.topology import JobSpec, TaskRef


class Placed(Frozen):
    """Where a task was put."""

    task: TaskRef
    node: NodeName
    ranks: tuple[int, ...]


class JobAccepted(Event):
    """The job's specification is valid and its tasks will be created."""

    spec: JobSpec
    warnings: tuple[str, ...] = ()
    """What was taken over otherwise than it was written, in sentences; for jobs that come as a cluster's own objects.

    A local job is taken as it is or refused.
    """


class JobWaiting(Event):
    """The job cannot be placed now, and why; with ``runs`` an order of people cannot be done to it."""

    because: str
    suspended: bool = False
    """Somebody else than keepstep suspended it: until it is resumed nothing is expected of it and no limit runs."""
    runs: bool = False
    """The job runs on where it is: what does not come about is a drain, and ``node`` is the node."""


class JobStarted(Event):
    """Generation 1 runs."""

    placement: tuple[Placed, ...]


class TaskLost(Event):
    """A task of the current placement is gone from the cluster; said once, whatever is found out later."""

    ref: TaskRef
    by: LossCause
    proven: bool
    text: str = ""
    at: AwareDatetime


class TaskReleased(Event):
    """A task that keepstep took out, or that was lost, is gone; ``proven``: its processes are known to be dead."""

    ref: TaskRef
    proven: bool


class RecoveryPlanned(Event):
    """The intent, said before any effect: level, new generation, who is replaced and what must be seen.

    Each plan that stops ranks has a ``to_generation`` of its own; ``wait`` stays in the generation that runs.
    """

    attempt: int
    level: Level
    to_generation: int
    replace: tuple[TaskUid, ...] = ()
    expected: tuple[TaskRef, ...] = ()
    avoid: tuple[NodeName, ...] = ()
    resume_step: int | None = None
    because: str


class RecoveryStarted(Event):
    """The plan that stops the old generation is out; older generations are stale from here on.

    At most one per ``to_generation``. Where a plan is given up RecoveryFailed follows, then the start of a later
    generation from the same ``from_generation``: the newest that ranks were given out for.
    """

    attempt: int
    level: Level
    from_generation: int
    to_generation: int


class RanksStarted(Event):
    """All tasks confirmed the new generation's ranks started; where they run now. At most one per generation."""

    attempt: int
    placement: tuple[Placed, ...]


class RecoveryFailed(Event):
    """A level did not help in time or could not be done; what follows is in ``because``."""

    attempt: int
    level: Level
    because: str


class JobResumed(Event):
    """All tasks completed their first step of the new generation."""

    attempt: int
    level: Level
    step: int | None
    lost_steps: int | None
    estimated: bool = False
    because: str


class JobSucceeded(Event):
    """All ranks exited 0."""

    step: int | None = None


class JobFailed(Event):
    """The job ended for good; the category and the last line say why."""

    category: Category
    because: str
    last_line: str = ""


class JobStopRequested(Event):
    """A person stopped the job."""

    by: str
    reason: str = ""


class JobDeleted(Event):
    """The job's tasks are gone and its state is kept only as history."""


class ActionsPaused(Event):
    """keepstep observes and acts on nothing, for a job or, without one, the pool."""

    by: str


class ActionsResumed(Event):
    """keepstep acts again."""

    by: str


class JobHeld(Event):
    """The pool's pause reached a job, which was there or came later; people are told of the pool's alone."""


class JobFreed(Event):
    """The end of the pool's pause reached a job."""


class Accounts(Frozen):
    """Seconds per stage of one incident; the parts add up to ``wall_s`` (fault to caught up with lost work)."""

    detect_s: float
    decide_s: float
    isolate_s: float
    reschedule_s: float
    init_s: float
    load_s: float
    first_step_s: float
    recompute_s: float
    wall_s: float
    lost_steps: int | None = None
    estimated: bool = False
    people_s: float = 0.0
    """All was answered and actions were paused: the wait for a person who resumes them."""


class IncidentClosed(Event):
    """The incident is over; what it cost and through which levels it went."""

    outcome: Outcome
    category: Category
    levels: tuple[Level, ...] = ()
    attempts: int = 0
    accounts: Accounts | None = None
    because: str
    group: str | None = None
    """Incidents with the same one share a cause, as the isolator's answer had it."""
    service: Service = Service.SCHEDULER_ADAPTER
    """Who closes it: that of a job the scheduler-adapter, one that was none the diagnoser, a node's the isolator."""
