"""The fold of one job: everything that must survive a restart, and nothing else."""

from enum import StrEnum

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import LevelRefusal
from keepstep.contracts.ids import EventId, IncidentId, NodeName, Pool, TaskUid
from keepstep.contracts.model import Frozen
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobRef, JobSpec, TaskRef
from keepstep.core.budgets import Ledger
from keepstep.scheduler_adapter.core.making import Making
from keepstep.scheduler_adapter.core.recovery import Checkpoint, Recovery
from keepstep.scheduler_adapter.core.task import Leaving, Task


class Life(StrEnum):
    """Where a job stands; a recovery happens inside placing, launching or running."""

    ABSENT = "absent"
    PLACING = "placing"
    LAUNCHING = "launching"
    RUNNING = "running"
    ENDING = "ending"
    ENDED = "ended"


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


class Drain(Frozen):
    """A person takes a node out of use: the job's tasks leave it after the next checkpoint, or then at the latest."""

    node: NodeName
    by: str
    reason: str
    until: AwareDatetime


class Shortage(Frozen):
    """The cluster has no room, since when and why."""

    because: str
    since: AwareDatetime
    final: bool = False
    """The limit passed and there is no other level: wait for a node, however long."""


class Controlled(Frozen):
    """The job's pods are made by a controller of the cluster, which is asked to restart them and may refuse."""

    kind: str
    levels: frozenset[Level]
    refusals: tuple[LevelRefusal, ...] = ()
    spec: str = ""
    """Digest of the specification it was found with."""
    word: EventId | None = None
    """The word that said so: the next follows from it, so that what comes back is another word than at first."""
    suspended: bool = False
    """By somebody else than keepstep: nothing is expected of the job until he resumes it."""


class Unobeyed(Frozen):
    """Why a job never began, and the word that said so."""

    because: str
    word: EventId
    down: bool = False
    """Its controller was told to make no pods, which would wait for tasks for ever."""


class JobState(Frozen):
    """The fold of one job."""

    pool: Pool
    job: JobRef | None
    life: Life = Life.ABSENT
    since: AwareDatetime
    spec: JobSpec | None = None
    order: EventId | None = None
    """The order that it began with; None where it was found as an object of a cluster."""
    making: Making | None = None
    """The object that the order is to become, which has a fold of its own by its uid."""
    controlled: Controlled | None = None
    unobeyed: Unobeyed | None = None
    """Set where the job cannot be obeyed: it ended before it began, and begins once it is put right."""
    revived: bool = False
    """Somebody resumed it after its end, and it is to be put down again."""
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
    drains: tuple[Drain, ...] = ()
    removing: bool = False
    """Its plan is being taken off the board."""
    forgotten: bool = False
    recent: tuple[EventId, ...] = ()

    def named(self, uid: TaskUid | None) -> Task | None:
        """Return the current task with this uid, or None."""
        return next((task for task in self.tasks.values() if task.ref.uid == uid), None)

    def current(self, ref: TaskRef) -> Task | None:
        """Return the current task that this is, or None; found by its name, as a job may have thousands."""
        task = self.tasks.get(ref.name)
        return task if task is not None and task.ref.uid == ref.uid else None

    @property
    def suspended(self) -> bool:
        """Whether somebody else than keepstep suspended the job: its clocks stand still."""
        return self.controlled is not None and self.controlled.suspended

    @property
    def following(self) -> int:
        """The generation of the next plan: each has its own, also one that never came to run."""
        return (self.generation if self.plan is None else self.plan.generation) + 1

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
