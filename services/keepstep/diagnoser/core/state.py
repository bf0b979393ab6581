"""What the diagnoser remembers of a job: where its ranks are, the open incident, and how earlier ones looked."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import Verdict
from keepstep.contracts.ids import EventId, IncidentId, JobUid, Pool
from keepstep.contracts.model import Frozen
from keepstep.contracts.policy import DetectionPolicy, RecoveryPolicy
from keepstep.contracts.topology import Culprit, JobRef
from keepstep.core.forgetting import Remembered
from keepstep.core.placement import Placement
from keepstep.diagnosis.finding import Finding, Resumed

MAX_FINDINGS = 32
"""The heaviest and earliest of an attempt; with 512 ranks dying at once the rest are victims of these."""

MAX_FAULTS = 64
"""Fault ids that a verdict lists."""

MAX_HISTORY = 16
"""Earlier verdicts kept to recognise a failure that repeats at the same step."""

MAX_RECENT = 1024
"""Ids of faults kept to drop duplicates: more than the ranks of one attempt's redelivery."""

USUAL = DetectionPolicy()
"""Of a job of which nothing is known; pydantic copies a default with dictionaries in it, 50 us for each message."""


class Past(Frozen):
    """How an earlier verdict looked."""

    signature: str
    step: int | None


class Attempt(Frozen):
    """The faults since the incident opened, or since its last recovery started, and what was said about them."""

    number: int = 1
    revision: int = 0
    findings: tuple[Finding, ...] = ()
    faults: tuple[EventId, ...] = ()
    count: int = 0
    blamed: tuple[int, ...] = ()
    """Ranks that reported something."""
    step: int | None = None
    occurred: AwareDatetime | None = None
    detected: AwareDatetime | None = None
    settle: AwareDatetime | None = None
    """When the verdict is due; None before the first fault and once it was said."""
    verdict: Verdict | None = None
    stacks: dict[int, str] = Field(default_factory=dict)
    """Innermost frame of ranks whose stack was captured."""


class Incident(Frozen):
    """The job's one open incident."""

    id: IncidentId
    attempt: Attempt = Attempt()
    opened: AwareDatetime | None = None
    """None in a fold that is older than the alert."""
    alerted: bool = False
    """It was open past its recovery's deadlines, and that was said."""


class JobFold(Placement, Remembered):
    """One job, or one node of which faults are known that hurt no job."""

    pool: Pool
    job: JobRef | None
    """None for a node."""
    policy: DetectionPolicy = Field(default_factory=lambda: USUAL)
    longest: timedelta = RecoveryPolicy().longest
    """How long an incident may be open."""
    resumed: Resumed = Resumed()
    """Where the current generation resumes."""
    chosen: Resumed = Resumed()
    """The last choice of the checkpoint-manager: where the next generation will resume."""
    incident: Incident | None = None
    heard: tuple[Finding, ...] = ()
    """Hearsay that got no verdict by itself, oldest first."""
    history: tuple[Past, ...] = ()
    recent: tuple[EventId, ...] = ()
    dropped: int = 0

    @property
    def uid(self) -> JobUid:
        """The job's uid; only a job has incidents that last."""
        if self.job is None:
            raise ValueError("a node's fold has no job")
        return self.job.uid


def change(fold: JobFold, **fields: object) -> JobFold:
    """Return the fold with these fields replaced."""
    return fold.model_copy(update=fields)


def with_attempt(fold: JobFold, attempt: Attempt) -> JobFold:
    """Return the fold whose open incident stands at this attempt."""
    if fold.incident is None:
        return fold
    return change(fold, incident=fold.incident.model_copy(update={"attempt": attempt}))


def quiet_ranks(fold: JobFold, attempt: Attempt) -> Iterator[Culprit]:
    """Yield the places of the ranks that reported nothing in this attempt; lazily, since jobs have thousands."""
    blamed = frozenset(attempt.blamed)
    for uid, seat in fold.tasks.items():
        for rank in seat.ranks:
            if rank not in blamed:
                yield Culprit(node=seat.node, task=uid, rank=rank)


def is_accounted_for(fold: JobFold, attempt: Attempt) -> bool:
    """Tell whether every rank reported something."""
    return bool(fold.tasks) and next(quiet_ranks(fold, attempt), None) is None


def earliest(one: datetime | None, other: datetime) -> datetime:
    """Return the earlier of two instants, the first of which may not be known."""
    return other if one is None else min(one, other)
