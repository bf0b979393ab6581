"""What every job kind tells of a job, and which recovery levels its own rules allow: data, a row for each rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypedDict, TypeVar

from keepstep.adapters.kube_json import JsonObject, flag, holds, table, text
from keepstep.adapters.kube_objects import ObjectRef, reference
from keepstep.contracts.taxonomy import Level

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
TOUCHING = frozenset({Level.IN_PLACE, Level.POD, Level.JOB})
"""The levels that a job kind has a say in; waiting and failing need nothing of it."""
REPLACING = frozenset({Level.POD, Level.JOB})
SUSPEND_INSTEAD = "take level job: suspension counts nothing"
WATCH_INSTEAD = "watch the restart that is under way"
ASK_KUEUE = "set spec.active of its Workload to false and back to true"
"""What helps against a refusal, where several kinds say the same."""


class JobPhase(StrEnum):
    """Where a job stands, whatever its kind calls it."""

    PENDING = "pending"
    RUNNING = "running"
    RESTARTING = "restarting"
    SUSPENDED = "suspended"
    ABORTED = "aborted"
    ENDING = "ending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


FINISHED = frozenset({JobPhase.SUCCEEDED, JobPhase.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job as its kind and its own object show it; each kind adds what its rules need."""

    ref: ObjectRef
    version: str
    phase: JobPhase
    size: int
    """How many pods it wants."""
    counter: int = 0
    """What a restart or a lost pod adds to: retryCount, restarts, failed."""
    suspended: bool = False
    queue: str = ""
    """The Kueue queue that owns its ``suspend``, "" when nobody but its author does."""
    manager: str = ""
    """``managedBy`` when it names another controller than the kind's own: that one acts, or nobody."""
    deleting: bool = False
    said: str = ""
    """Its latest condition in words."""

    @property
    def words(self) -> str:
        """The job as a sentence names it."""
        return str(self.ref)

    @property
    def stopped(self) -> bool:
        """Whether its controller was told to make no pods for now."""
        return self.suspended or self.phase is JobPhase.ABORTED

    @property
    def pause(self) -> str:
        """That it is stopped, and who makes it go on."""
        if self.suspended and self.queue:
            return f"{self.words} is suspended by Kueue, whose queue {self.queue} resumes it"
        stopped = "suspended" if self.suspended else "aborted"
        return f"{self.words} is {stopped}, and not by keepstep: resume it"


V = TypeVar("V", bound=JobView)


class Until(StrEnum):
    """How long a refusal holds."""

    ALWAYS = "always"
    """The job's own rules are so; another level must do."""
    PROVED = "proved"
    """Until a node that does not answer is known to be dead, or answers."""
    CLOSED = "closed"
    """Until a node to avoid takes no pods."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A level that cannot be had, why, and what would make it possible."""

    level: Level
    because: str
    remedy: str
    until: Until = Until.ALWAYS


@dataclass(frozen=True, slots=True)
class Row(Generic[V]):
    """One rule: these levels are refused when it holds. ``because`` may name fields as ``{v.phase}``."""

    levels: frozenset[Level]
    when: Callable[[V], bool]
    because: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Support:
    """What a job supports, and the reason for each level that it does not."""

    levels: frozenset[Level]
    refusals: tuple[Refusal, ...]

    def refusal(self, level: Level) -> Refusal | None:
        """Return why the level is refused, None when it is not."""
        return next((one for one in self.refusals if one.level is level), None)


COMMON: tuple[Row[JobView], ...] = (
    Row(
        TOUCHING,
        lambda view: view.phase in FINISHED,
        "{v.words} is {v.phase}; no kind starts a finished job again",
        "create it anew",
    ),
    Row(TOUCHING, lambda view: view.deleting, "{v.words} is being deleted", "create it anew"),
    Row(
        REPLACING,
        lambda view: bool(view.manager),
        "{v.words} is managed by {v.manager}; its own controller ignores it",
        "restart it where {v.manager} runs it",
    ),
    Row(
        TOUCHING,
        lambda view: view.suspended or view.phase is JobPhase.SUSPENDED,
        "{v.words} is suspended, and not by this recovery",
        "resume it",
    ),
)
"""Facts 5.7, rules 4 and 6."""


def support(view: V, rows: Sequence[Row[V]]) -> Support:
    """Return the levels that no row refuses; of several rows that refuse one level the first speaks."""
    refusals: dict[Level, Refusal] = {}
    for row in COMMON:
        if row.when(view):
            _refuse(refusals, view, row.levels, row.because, row.remedy)
    for own in rows:
        if own.when(view):
            _refuse(refusals, view, own.levels, own.because, own.remedy)
    return Support(frozenset(Level) - refusals.keys(), tuple(refusals.values()))


def _refuse(refusals: dict[Level, Refusal], view: JobView, levels: frozenset[Level], because: str, remedy: str) -> None:
    for level in Level:
        if level in levels:
            refusals.setdefault(level, Refusal(level, because.format(v=view), remedy.format(v=view)))


class Identity(TypedDict):
    """The fields of a view that stand in the metadata of any object."""

    ref: ObjectRef
    version: str
    deleting: bool


class Stopping(TypedDict):
    """The fields of a view that tell who may stop a job of a kind with ``suspend``."""

    suspended: bool
    queue: str
    manager: str


def identity(source: JsonObject) -> Identity:
    """Return who an object is, in which version, and whether somebody has deleted it."""
    return {
        "ref": reference(source),
        "version": text(source, "metadata", "resourceVersion"),
        "deleting": bool(text(source, "metadata", "deletionTimestamp")),
    }


def stopping(source: JsonObject, at: tuple[str, ...], *, own: str) -> Stopping:
    """Return whose ``suspend`` a job's is. ``at`` is where it stands; ``own``: the kind's controller in managedBy."""
    policy = table(source, *at)
    manager = text(policy, "managedBy")
    return {
        "suspended": flag(policy, "suspend"),
        "queue": text(source, "metadata", "labels", QUEUE_LABEL),
        "manager": "" if manager == own else manager,
    }


def held(source: JsonObject, phases: Sequence[tuple[str, JobPhase]]) -> JobPhase | None:
    """Return the phase of the first of these conditions that holds."""
    return next((phase for kind, phase in phases if holds(source, kind)), None)


def working(active: int) -> JobPhase:
    """Return the phase of a job that has this many active pods or children and no condition that says more."""
    return JobPhase.RUNNING if active else JobPhase.PENDING
