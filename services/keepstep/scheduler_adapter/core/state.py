"""The fold of one job: everything that must survive a restart, and nothing else."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import Verdict, Versions
from keepstep.contracts.ids import EventId, IncidentId, NodeName, Pool, TaskUid, derive
from keepstep.contracts.model import Frozen
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Level, LossCause, Phase
from keepstep.contracts.topology import JobRef, JobSpec, TaskRef
from keepstep.core.budgets import Ledger


class Life(StrEnum):
    """Where a job stands; a recovery happens inside placing, launching or running."""

    ABSENT = "absent"
    PLACING = "placing"
    LAUNCHING = "launching"
    RUNNING = "running"
    ENDING = "ending"
    ENDED = "ended"


class Loss(Frozen):
    """The cluster says that a task is gone."""

    by: LossCause
    proven: bool


class Task(Frozen):
    """The current incarnation of one task; generations are 0 until the task has confirmed one."""

    ref: TaskRef
    incarnation: int = 1
    born: int = 1
    """Generation it was created for."""
    joined: bool = False
    node: NodeName | None = None
    address: str = ""
    ports: tuple[int, ...] = ()
    versions: Versions | None = None
    ran: int = 0
    """Newest generation whose run plan it may have followed."""
    stopped: int = 0
    started: int = 0
    stepped: int = 0
    phase: Phase = Phase.STEP
    """What its ranks were doing when its agent fell silent."""
    ended: bool = False
    lost: Loss | None = None
    unfit: str = ""
    """Why its processes cannot be counted on to be stopped: unkillable, or silent past the stop deadline."""
    stuck: bool = False
    """Its ranks survived SIGKILL: whatever they hold of the node stays held."""


class Leaving(Frozen):
    """A replaced incarnation whose ranks must be known to be dead before they are given out again."""

    ref: TaskRef
    node: NodeName | None
    ran: int
    stopped: int = 0
    stepped: bool = True
    """Its ranks had made a step: before that its agent's fence lets a rank live that uses CPU time."""
    phase: Phase = Phase.STEP
    gone: bool = False
    """Proven dead."""
    released: bool = False
    """The cluster holds it no longer, without proof."""
    fenced: bool = False
    """Its own fence must have stopped it by now."""

    def safe(self, generation: int) -> bool:
        """Tell whether its ranks may be given out again in this generation."""
        return self.gone or self.fenced or self.ran == 0 or self.stopped >= generation


class Checkpoint(Frozen):
    """Where to resume; ``step`` None is from scratch."""

    step: int | None = None
    path: str | None = None


class Fence(Frozen):
    """The isolator's answer."""

    isolated: bool
    """The node takes no tasks."""
    because: str


class Joining(Frozen):
    """Waiting for both answers to the verdict."""

    kind: Literal["joining"] = "joining"
    since: AwareDatetime
    overdue: bool = False


class Waiting(Frozen):
    """Level wait: the fault may clear by itself."""

    kind: Literal["waiting"] = "waiting"
    until: AwareDatetime


class Stopping(Frozen):
    """The stop plan is out or on its way; replaced tasks leave and their successors are placed."""

    kind: Literal["stopping"] = "stopping"
    since: AwareDatetime
    """When it was planned; once announced, since when all tasks are asked to stop."""
    announced: bool = False
    """RecoveryStarted was said: older generations are stale."""
    overdue: bool = False
    """The stop deadline passed."""
    peers_stopped: AwareDatetime | None = None
    """When all that can be reached had stopped; a silent task fences itself from here on."""


class Starting(Frozen):
    """The run plan is out."""

    kind: Literal["starting"] = "starting"
    since: AwareDatetime


class Stepping(Frozen):
    """All ranks run; the first step of all is awaited."""

    kind: Literal["stepping"] = "stepping"
    since: AwareDatetime


RecoveryStage = Annotated[Joining | Waiting | Stopping | Starting | Stepping, Field(discriminator="kind")]


class Recovery(Frozen):
    """One incident on its way to an end."""

    incident: IncidentId
    cause: EventId
    """The FaultDiagnosed that is acted on."""
    verdict: Verdict
    faults: tuple[EventId, ...]
    cleared: tuple[EventId, ...] = ()
    attempt: int = 1
    revision: int = 0
    burnt: int = 0
    """Newest attempt that was counted in the ledger."""
    from_generation: int
    to_generation: int
    stage: RecoveryStage
    checkpoint: Checkpoint | None = None
    fence: Fence | None = None
    level: Level | None = None
    level_since: AwareDatetime | None = None
    chain: tuple[Level, ...] = ()
    failed: frozenset[Level] = frozenset()
    condemned: bool = False
    """A level failed with its culprit kept: the next one replaces it."""
    culprits: tuple[str, ...] = ()
    soft_avoid: tuple[NodeName, ...] = ()
    """Nodes not to use for replacements while there are others."""
    occurred: AwareDatetime
    detected: AwareDatetime
    diagnosed: AwareDatetime
    planned: AwareDatetime | None = None
    started: AwareDatetime | None = None
    step: int | None = None
    """Last completed step before the first fault."""


class Exited(Frozen):
    """A rank of the current generation ended on its own."""

    success: bool
    ran_s: float
    step: int | None = None


class Marks(Frozen):
    """First steps of the current generation so far; times are of the slowest task."""

    step: int | None = None
    estimated: bool = False
    init_s: float = 0.0
    load_s: float = 0.0
    first_step_s: float = 0.0
    at: AwareDatetime


class Closed(Frozen):
    """An incident that is over, so that a late message does not open it again."""

    incident: IncidentId
    attempt: int


class Failure(Frozen):
    """One failure of the job's own making, to know its repeat."""

    signature: str
    step: int | None


class Shortage(Frozen):
    """The cluster has no room, since when and why."""

    because: str
    since: AwareDatetime
    final: bool = False
    """The limit passed and there is no other level: wait for a node, however long."""


class JobState(Frozen):
    """The fold of one job."""

    pool: Pool
    job: JobRef | None
    life: Life = Life.ABSENT
    since: AwareDatetime
    spec: JobSpec | None = None
    generation: int = 1
    tasks: dict[str, Task] = Field(default_factory=dict)
    leaving: tuple[Leaving, ...] = ()
    plan: PlanHead | None = None
    recovery: Recovery | None = None
    opened: IncidentId | None = None
    """An incident that was opened and has no verdict yet."""
    closed: tuple[Closed, ...] = ()
    checkpoint: Checkpoint = Checkpoint()
    exits: dict[int, Exited] = Field(default_factory=dict)
    finishing: AwareDatetime | None = None
    """When the first rank of this generation exited 0."""
    marks: Marks | None = None
    marking: bool = False
    """The job was seen to mark steps."""
    joined_at: AwareDatetime | None = None
    step_s: float | None = None
    ledger: Ledger = Ledger()
    failures: tuple[Failure, ...] = ()
    instant_failures: int = 0
    stillborn: int = 0
    """Tasks that ended before they joined, since the last one that joined."""
    avoid: tuple[NodeName, ...] = ()
    paused: bool = False
    """By an order to this job; in the pool's own fold, which has no job, to all of them."""
    held: bool = False
    """By the pool's pause."""
    postponed: dict[str, AwareDatetime] = Field(default_factory=dict)
    """Deadlines that passed while nobody could have answered, and until when they wait once more."""
    shortage: Shortage | None = None
    removing: bool = False
    """Its plan is being taken off the board."""
    forgotten: bool = False
    recent: tuple[EventId, ...] = ()

    def named(self, uid: TaskUid | None) -> Task | None:
        """Return the current task with this uid, or None."""
        return next((task for task in self.tasks.values() if task.ref.uid == uid), None)

    def plan_name(self) -> str:
        """Return what tells one plan of an attempt from another: level, generation and the tasks it counts on."""
        if self.recovery is None:
            return ""
        uids = derive(*sorted(task.ref.uid for task in self.tasks.values()))
        return f"{self.recovery.level}/{self.recovery.to_generation}/{uids}"

    def specified(self) -> JobSpec:
        """Return the spec of a job that was created."""
        if self.spec is None:
            raise ValueError(f"job {self.job} was never created")
        return self.spec

    def entries(self, generation: int) -> tuple[PlanEntry, ...]:
        """Return what each task runs in this generation, by index."""
        spec, job = self.specified(), self.job
        if job is None:
            raise ValueError("a job without a name was created")
        return tuple(
            PlanEntry(
                job=job.uid,
                task=task.ref.uid,
                node=task.node or NodeName(""),
                generation=generation,
                ranks=spec.ranks_of(task.ref.index),
            )
            for task in sorted(self.tasks.values(), key=lambda task: task.ref.index)
        )
