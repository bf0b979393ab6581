"""Every event: who says it is in PROTOCOL section 2 and in ``SAID_BY``."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from keepstep.contracts.ids import EventId, NodeName, TaskUid
from keepstep.contracts.message import Event
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import (
    Applied,
    Category,
    Level,
    LossCause,
    Outcome,
    Phase,
    Service,
    Severity,
    StallSign,
)
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Culprit, JobSpec, TaskRef

MAX_LINES = 20
MAX_LINE_LENGTH = 2048

# ---- said by the agent -------------------------------------------------------------------------


class Versions(Frozen):
    """What runs in the task; None where it is not there."""

    python: str
    torch: str | None = None
    framework: str | None = None


class TaskJoined(Event):
    """A task's agent and launcher are up and offer an address and ports for the master."""

    ref: TaskRef
    address: str
    port_offers: tuple[int, ...]
    versions: Versions
    warm_ready: int
    applied: int = 0
    """Generation whose ranks run already; 0 when none does."""


class PlanApplied(Event):
    """An agent did, or refused, what the plan of this generation asks."""

    applied: Applied
    port_offers: tuple[int, ...] = ()
    unkillable: tuple[int, ...] = ()
    """Ranks that could not be reaped after SIGKILL."""
    warm_used: int = 0
    because: str = ""


class FirstStepDone(Event):
    """All local ranks completed their first step of this generation; stage times are of the slowest rank."""

    step: int | None
    estimated: bool = False
    init_s: float = 0.0
    load_s: float = 0.0
    first_step_s: float = 0.0


class RankExited(Event):
    """A rank's process ended; ``ordered`` when keepstep asked for it."""

    rank: int
    local_rank: int
    pid: int
    exit: Exit
    ordered: bool
    at: AwareDatetime
    step: int | None = None
    phase: Phase = Phase.STARTING
    ran_s: float = 0.0
    last_lines: tuple[str, ...] = ()
    """The last lines of stderr, else of stdout; at most 20 of at most 2 KiB."""


class RankStalled(Event):
    """A rank shows positive local evidence of a stall: its process is stopped, uninterruptible or defunct."""

    rank: int
    sign: StallSign
    state: str
    since: AwareDatetime
    step: int | None = None
    phase: Phase = Phase.STEP
    episode: int = 1


class RankRecovered(Event):
    """The stall that RankStalled told of is over without help."""

    rank: int
    episode: int


class LogMatched(Event):
    """A line of a rank's output matched a rule."""

    rank: int
    rule: str
    category: Category
    line: str
    source: str
    offset: int
    step: int | None = None


class CheckpointSaved(Event):
    """A complete, stable, loadable set of checkpoint files of one step was found."""

    step: int
    path: str
    files: tuple[str, ...]
    ranks: tuple[int, ...]
    """Ranks whose state the files hold; all of them where one file serves all."""
    shared: bool = True
    size_bytes: int = 0
    written: AwareDatetime | None = None
    """Newest modification time of the files: tells a step written anew from the old files found again."""


class EvidenceCaptured(Event):
    """Stacks or other evidence taken for an incident, bounded in size."""

    rank: int
    what: Literal["stack", "log_tail"]
    lines: tuple[str, ...]


class DeviceReported(Event):
    """A node agent reports a device fault or its end."""

    device: str
    code: str
    text: str = ""
    active: bool = True


class NodeReported(Event):
    """A node agent reports a condition of its node or its end."""

    condition: str
    text: str = ""
    active: bool = True


class LinkReported(Event):
    """A node agent reports a network port going down or up."""

    port: str
    up: bool


# ---- said by the detector ----------------------------------------------------------------------


class ExitEvidence(Frozen):
    """A rank exited without having been asked to."""

    kind: Literal["exit"] = "exit"
    rank: int
    exit: Exit
    step: int | None = None
    phase: Phase = Phase.STARTING
    ran_s: float = 0.0
    last_lines: tuple[str, ...] = ()


class StallEvidence(Frozen):
    """A rank makes no progress; ``waiting`` tells those who wait in a collective from those who do not."""

    kind: Literal["stall"] = "stall"
    rank: int
    sign: StallSign
    step: int | None = None
    phase: Phase = Phase.STEP
    stalled_s: float = 0.0
    stack: tuple[str, ...] = ()
    waiting: bool | None = None


class SilenceEvidence(Frozen):
    """An agent was not heard for a whole loss window."""

    kind: Literal["silence"] = "silence"
    silent_s: float
    last_step: int | None = None


class LogEvidence(Frozen):
    """A line of output that is a fault in itself."""

    kind: Literal["log"] = "log"
    rank: int
    rule: str
    category: Category
    line: str
    step: int | None = None


class LossEvidence(Frozen):
    """A task is gone from the cluster."""

    kind: Literal["loss"] = "loss"
    by: LossCause
    proven: bool
    """The task's processes are known to be gone."""
    text: str = ""


class UnkillableEvidence(Frozen):
    """Ranks could not be reaped after SIGKILL."""

    kind: Literal["unkillable"] = "unkillable"
    ranks: tuple[int, ...]


class DeviceEvidence(Frozen):
    """A device reported a fault code."""

    kind: Literal["device"] = "device"
    device: str
    code: str
    text: str = ""


class NodeEvidence(Frozen):
    """A node reported a condition, or an outside system did."""

    kind: Literal["node"] = "node"
    condition: str
    text: str = ""


Evidence = Annotated[
    ExitEvidence
    | StallEvidence
    | SilenceEvidence
    | LogEvidence
    | LossEvidence
    | UnkillableEvidence
    | DeviceEvidence
    | NodeEvidence,
    Field(discriminator="kind"),
]


class FaultDetected(Event):
    """Something is wrong with a rank, task, device or node; ``occurred`` is when, as its witness saw it."""

    subject_name: str
    """Readable and stable: ``rank 3``, ``task worker-1``, ``node n1``."""
    occurred: AwareDatetime
    evidence: Evidence
    because: str


class FaultCleared(Event):
    """A fault is over without help; ``cause`` is the FaultDetected."""

    because: str


class DetectorBlinded(Event):
    """So many agents fell silent at once that the detector, not they, is to be doubted: no fault is called."""

    silent: int
    total: int
    because: str


class DetectorSighted(Event):
    """The detector hears enough agents again."""

    total: int


# ---- said by the detector to itself: what its telemetry watch saw, so that the fold decides on it ----


class SilenceSuspected(Event):
    """The agent of ``task`` was not heard for a whole loss window while its job was not seen to step."""

    silent_s: float
    last_step: int | None = None


class AgentHeard(Event):
    """The agent of ``task``, once called silent, is heard again."""


class StallSuspected(Event):
    """Heartbeats of the whole job agree that it hangs; ``stalls`` names who is to blame, or one rank of all."""

    stalls: tuple[StallEvidence, ...]
    because: str


class StallPassed(Event):
    """Ranks that StallSuspected named step again."""

    ranks: tuple[int, ...]


class ExitSuspected(Event):
    """Heartbeats repeat an exit of a rank that nobody reported: the RankExited was lost with its agent."""

    rank: int
    exit: Exit
    step: int | None = None
    phase: Phase = Phase.STARTING


class ReportPlaced(Event):
    """A report about a node or device was brought to a job that runs there now; without a job: to all of them."""

    evidence: DeviceEvidence | NodeEvidence = Field(discriminator="kind")
    active: bool = True


# ---- said by the diagnoser ---------------------------------------------------------------------


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


class FaultDiagnosed(Event):
    """The verdict on the incident's attempt; a revision replaces it until RecoveryStarted."""

    verdict: Verdict
    attempt: int = 1
    revision: int = 0
    faults: tuple[EventId, ...]
    occurred: AwareDatetime
    detected: AwareDatetime
    settle_s: float = 0.0


# ---- said by the isolator ----------------------------------------------------------------------


class NodeIsolated(Event):
    """A node is cordoned; ``cause`` is the verdict or order. In a dry run IsolationDeclined is said instead."""

    reason: str
    because: str
    until: AwareDatetime | None = None


class DeviceIsolated(Event):
    """A device is kept from jobs; ``cause`` is the verdict or order."""

    device: str
    reason: str
    because: str


class IsolationDeclined(Event):
    """Nothing was isolated for this verdict, and why; exactly one answer is given per verdict."""

    because: str
    dry_run: bool = False


class NodeReleased(Event):
    """A node may take jobs again."""

    because: str


class ReleaseDeclined(Event):
    """A person's release of a node (``cause``) changed nothing, and why."""

    because: str


# ---- said by the checkpoint-manager ------------------------------------------------------------


class CheckpointCommitted(Event):
    """The union of saved files covers all ranks: this step can be resumed from."""

    step: int
    path: str
    files: tuple[str, ...]


class CheckpointChosen(Event):
    """Where to resume for this verdict (``cause``); ``step: null`` is from scratch."""

    step: int | None
    path: str | None
    because: str


# ---- said by the scheduler-adapter -------------------------------------------------------------


class Placed(Frozen):
    """Where a task was put."""

    task: TaskRef
    node: NodeName
    ranks: tuple[int, ...]


class JobAccepted(Event):
    """The job's specification is valid and its tasks will be created."""

    spec: JobSpec
    warnings: tuple[str, ...] = ()


class JobWaiting(Event):
    """The job cannot be placed now, and why."""

    because: str


class JobStarted(Event):
    """Generation 1 runs."""

    placement: tuple[Placed, ...]


class TaskLost(Event):
    """A task of the current placement is gone from the cluster."""

    ref: TaskRef
    by: LossCause
    proven: bool
    text: str = ""
    at: AwareDatetime


class TaskReleased(Event):
    """A task that keepstep took out is gone from the cluster; ``proven``: its processes are known to be dead."""

    ref: TaskRef
    proven: bool


class RecoveryPlanned(Event):
    """The intent, said before any effect: level, new generation, who is replaced and what must be seen."""

    attempt: int
    level: Level
    to_generation: int
    replace: tuple[TaskUid, ...] = ()
    expected: tuple[TaskRef, ...] = ()
    avoid: tuple[NodeName, ...] = ()
    resume_step: int | None = None
    because: str


class RecoveryStarted(Event):
    """The plan that stops the old generation is out; older generations are stale from here on."""

    attempt: int
    level: Level
    from_generation: int
    to_generation: int


class RanksStarted(Event):
    """All tasks confirmed the new generation's ranks started; where they run now."""

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


class IncidentClosed(Event):
    """The incident is over; what it cost and through which levels it went."""

    outcome: Outcome
    category: Category
    levels: tuple[Level, ...] = ()
    attempts: int = 0
    accounts: Accounts | None = None
    because: str


# ---- said by the notifier ----------------------------------------------------------------------


class NotificationDelivered(Event):
    """A message reached a sink."""

    sink: str
    severity: Severity
    title: str
    tries: int = 1


class NotificationDropped(Event):
    """A message was given up, and why."""

    sink: str
    severity: Severity
    title: str
    because: str


class NotificationDelayed(Event):
    """A message did not get through now; it is tried again, or given up after the last try."""

    notice: str
    sink: str
    tries: int
    again: AwareDatetime
    because: str


# ---- said by any service -----------------------------------------------------------------------


class DeadlinePassed(Event):
    """A durable deadline of ``service`` is due; it decides on this event. ``scope`` is the fold's key."""

    service: Service
    scope: str
    what: str
    due: AwareDatetime


class DeadLettered(Event):
    """A message that ``service`` could not take was put with the dead letters; a person is to look at it."""

    service: Service
    about: str
    """Class name of the message as its subject has it."""
    number: int = 0
    """What ``keepstep deadletter`` calls it; 0 if it is not known yet."""
    because: str


class IncidentAcknowledged(Event):
    """A person looks after the incident."""

    by: str


class PublicFaultReported(Event):
    """A system outside keepstep reports a fault of a node or device, or its end."""

    source: str
    code: str
    text: str = ""
    device: str | None = None
    active: bool = True
    assertion: str = ""
    duration: timedelta | None = None


SAID_BY: dict[str, tuple[type[Event], ...]] = {
    "agent": (
        TaskJoined,
        PlanApplied,
        FirstStepDone,
        RankExited,
        RankStalled,
        RankRecovered,
        LogMatched,
        CheckpointSaved,
        EvidenceCaptured,
        DeviceReported,
        NodeReported,
        LinkReported,
    ),
    Service.DETECTOR: (
        FaultDetected,
        FaultCleared,
        DetectorBlinded,
        DetectorSighted,
        SilenceSuspected,
        AgentHeard,
        StallSuspected,
        StallPassed,
        ExitSuspected,
        ReportPlaced,
        DeadlinePassed,
        DeadLettered,
    ),
    Service.DIAGNOSER: (
        IncidentOpened,
        FaultDiagnosed,
        IncidentAcknowledged,
        IncidentClosed,
        DeadlinePassed,
        DeadLettered,
    ),
    Service.ISOLATOR: (
        NodeIsolated,
        DeviceIsolated,
        IsolationDeclined,
        NodeReleased,
        ReleaseDeclined,
        IncidentClosed,
        DeadlinePassed,
        DeadLettered,
    ),
    Service.CHECKPOINT_MANAGER: (CheckpointCommitted, CheckpointChosen, DeadlinePassed, DeadLettered),
    Service.SCHEDULER_ADAPTER: (
        JobAccepted,
        JobWaiting,
        JobStarted,
        TaskLost,
        TaskReleased,
        RecoveryPlanned,
        RecoveryStarted,
        RanksStarted,
        RecoveryFailed,
        JobResumed,
        JobSucceeded,
        JobFailed,
        JobStopRequested,
        JobDeleted,
        ActionsPaused,
        ActionsResumed,
        IncidentClosed,
        DeadlinePassed,
        DeadLettered,
    ),
    Service.NOTIFIER: (NotificationDelivered, NotificationDelayed, NotificationDropped, DeadlinePassed, DeadLettered),
    "outside": (PublicFaultReported,),
}
"""Who may publish what; NATS permissions and the AsyncAPI document are drawn from it."""
