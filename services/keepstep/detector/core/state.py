"""What the detector remembers: of a job who runs where and what is wrong already; of a node what was reported."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import DeviceEvidence, Evidence, FaultCleared, FaultDetected, NodeEvidence
from keepstep.contracts.ids import EventId, NodeName, Pool, TaskUid, consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.model import Frozen
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.topology import JobRef
from keepstep.core.forgetting import Remembered
from keepstep.core.placement import Placement, Seat

MAX_RECENT = 128
"""Ids of repeatable observations kept to drop duplicates: redelivery reaches back some seconds, not minutes."""

USUAL = DetectionPolicy()
"""Of a job of which nothing is known; pydantic copies a default with dictionaries in it, 50 us for each message."""


class Ending(StrEnum):
    """How a rank of the current generation ended."""

    FINISHED = "finished"
    ORDERED = "ordered"
    FAILED = "failed"


class OpenFault(Frozen):
    """A fault that was said and is not over."""

    id: EventId
    subject_name: str
    task: TaskUid | None = None
    node: NodeName | None = None


class JobFold(Placement, Remembered):
    """One job. ``endings``, stalls and logs are of ``generation``; silences and devices outlive it."""

    kind: Literal["job"] = "job"
    pool: Pool
    job: JobRef
    policy: DetectionPolicy = Field(default_factory=lambda: USUAL)
    lost: tuple[TaskUid, ...] = ()
    endings: dict[int, Ending] = Field(default_factory=dict)
    open: dict[str, OpenFault] = Field(default_factory=dict)
    episodes: dict[str, int] = Field(default_factory=dict)
    recent: tuple[EventId, ...] = ()
    marks: bool = False
    """The job is known to mark its steps."""
    dropped: int = 0
    """Messages of older lives, counted."""


class Report(Frozen):
    """What was reported about a node, to be brought to the jobs that run there."""

    id: EventId
    evidence: DeviceEvidence | NodeEvidence = Field(discriminator="kind")
    active: bool
    once: bool = False
    """It was over as soon as it was reported."""
    at: AwareDatetime


class Lasting(Frozen):
    """A fault whose source said how long it lasts."""

    evidence: DeviceEvidence | NodeEvidence = Field(discriminator="kind")
    until: AwareDatetime


class NodeFold(Frozen):
    """One node: reports that were not yet brought to its jobs, and what is wrong with it where no job runs."""

    kind: Literal["node"] = "node"
    pool: Pool
    node: NodeName
    reports: tuple[Report, ...] = ()
    open: dict[str, OpenFault] = Field(default_factory=dict)
    """What was said of the node itself and is not over, by what was reported."""
    lasting: dict[str, Lasting] = Field(default_factory=dict)
    """What is over by itself at a known moment, by what was reported."""
    last_at: AwareDatetime | None = None
    """When something was reported of it last, or the last of what lasts is over."""
    forgotten: bool = False


class Fold(Frozen):
    """What is kept under one key: a job's uid or a node's name."""

    of: Annotated[JobFold | NodeFold, Field(discriminator="kind")]


def change(fold: JobFold, **fields: object) -> JobFold:
    """Return the fold with these fields replaced."""
    return fold.model_copy(update=fields)


def dropped(fold: JobFold) -> JobFold:
    """Return the fold with one more late message counted."""
    return change(fold, dropped=fold.dropped + 1)


def seen(fold: JobFold, message: Message) -> JobFold:
    """Return the fold that remembers this message's id."""
    return change(fold, recent=(*fold.recent, message.id)[-MAX_RECENT:])


def task_of(fold: JobFold, rank: int) -> Seat | None:
    """Return the current task that holds a rank."""
    return next((seat for seat in fold.tasks.values() if rank in seat.ranks), None)


def has_finished(fold: JobFold, seat: Seat) -> bool:
    """Tell whether all ranks of the task exited with 0."""
    return bool(seat.ranks) and all(fold.endings.get(rank) is Ending.FINISHED for rank in seat.ranks)


def is_stale(fold: JobFold, message: Message) -> bool:
    """Tell whether a message is of an older generation or of a task that is not placed any more."""
    if message.generation is not None and message.generation < fold.generation:
        return True
    return message.task is not None and message.task not in fold.tasks


@dataclass(frozen=True)
class Subject:
    """What a fault is about: as people call it, and the task it is placed with, if one is to blame."""

    name: str
    seat: Seat | None = None


def of_rank(fold: JobFold, rank: int) -> Subject:
    """Return a rank as a subject."""
    return Subject(f"rank {rank}", task_of(fold, rank))


def of_task(seat: Seat) -> Subject:
    """Return a task as a subject."""
    return Subject(f"task {seat.ref.name}", seat)


def fault(
    fold: JobFold,
    cause: Message,
    subject: Subject,
    evidence: Evidence,
    *,
    now: datetime,
    occurred: datetime,
    because: str,
    id: EventId | None = None,  # noqa: A002 - the envelope's own word
) -> FaultDetected:
    """Return FaultDetected about a subject of the current placement, of the current generation at the oldest.

    Its id follows from ``cause`` unless one is given.
    """
    about = envelope(
        cause,
        time=now,
        job=fold.job,
        task=subject.seat.ref.uid if subject.seat is not None else None,
        node=subject.seat.node if subject.seat is not None else None,
        generation=max(cause.generation or 0, fold.generation),
        incident=None,
    )
    return FaultDetected(
        **about,
        id=id or consequence_id("FaultDetected", cause.id),
        subject_name=subject.name,
        occurred=occurred,
        evidence=evidence,
        because=because,
    )


def kept(said: FaultDetected) -> OpenFault:
    """Return what is remembered of a fault until it is over."""
    return OpenFault(id=said.id, subject_name=said.subject_name, task=said.task, node=said.node)


def opened(fold: JobFold, key: str, said: FaultDetected) -> JobFold:
    """Return the fold in which this fault is open and its episode counted."""
    return change(with_episode(fold, key), open={**fold.open, key: kept(said)})


def with_episode(fold: JobFold, key: str) -> JobFold:
    """Return the fold with one more episode of this kind."""
    return change(fold, episodes={**fold.episodes, key: fold.episodes.get(key, 0) + 1})


def cleared(
    fold: JobFold, key: str, cause: Message, *, now: datetime, because: str
) -> tuple[JobFold, tuple[FaultCleared, ...]]:
    """Return the fold without the fault under ``key`` and FaultCleared, or nothing said if none was open."""
    entry = fold.open.get(key)
    if entry is None:
        return fold, ()
    said = clearing(entry, cause, now=now, because=because, job=fold.job, generation=fold.generation)
    return change(fold, open={k: v for k, v in fold.open.items() if k != key}), (said,)


def clearing(
    entry: OpenFault, cause: Message, *, now: datetime, because: str, job: JobRef | None, generation: int | None
) -> FaultCleared:
    """Return the end of a fault, of a job or of a node alone."""
    about = envelope(
        cause, time=now, job=job, task=entry.task, node=entry.node, generation=generation, cause=entry.id, incident=None
    )
    return FaultCleared(**about, id=consequence_id("FaultCleared", entry.id), because=because)
