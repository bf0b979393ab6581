"""What the detector remembers: of a job who runs where and what is wrong already; of a node what was reported."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import DeviceEvidence, Evidence, FaultCleared, FaultDetected, NodeEvidence
from keepstep.contracts.ids import EventId, NodeName, Pool, TaskUid, consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.model import Frozen
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.topology import JobRef, TaskRef

MAX_RECENT = 128
"""Ids of repeatable observations kept to drop duplicates: redelivery reaches back some seconds, not minutes."""

MAX_REPLACED = 256
"""Uids of former tasks; older ones are unknown, which drops their messages just the same."""


class Ending(StrEnum):
    """How a rank of the current generation ended."""

    FINISHED = "finished"
    ORDERED = "ordered"
    FAILED = "failed"


class TaskView(Frozen):
    """A task of the current placement."""

    ref: TaskRef
    node: NodeName
    ranks: tuple[int, ...] = ()


class OpenFault(Frozen):
    """A fault that was said and is not over."""

    id: EventId
    subject_name: str
    task: TaskUid | None = None
    node: NodeName | None = None


class JobFold(Frozen):
    """One job. ``endings``, stalls and logs are of ``generation``; silences and devices outlive it."""

    kind: Literal["job"] = "job"
    pool: Pool
    job: JobRef
    policy: DetectionPolicy = DetectionPolicy()
    nproc: int = 1
    generation: int = 1
    tasks: dict[TaskUid, TaskView] = Field(default_factory=dict)
    replaced: tuple[TaskUid, ...] = ()
    lost: tuple[TaskUid, ...] = ()
    endings: dict[int, Ending] = Field(default_factory=dict)
    open: dict[str, OpenFault] = Field(default_factory=dict)
    episodes: dict[str, int] = Field(default_factory=dict)
    recent: tuple[EventId, ...] = ()
    marks: bool = False
    """The job is known to mark its steps."""
    ended: bool = False
    ended_at: AwareDatetime | None = None
    forgotten: bool = False
    """It ended so long ago that no message of it is on its way any more."""
    dropped: int = 0
    """Messages of older lives, counted."""


class Report(Frozen):
    """What was reported about a node, to be brought to the jobs that run there."""

    id: EventId
    evidence: DeviceEvidence | NodeEvidence = Field(discriminator="kind")
    active: bool
    at: AwareDatetime


class NodeFold(Frozen):
    """One node: reports that were not yet brought to its jobs."""

    kind: Literal["node"] = "node"
    pool: Pool
    node: NodeName
    reports: tuple[Report, ...] = ()
    hurt: tuple[str, ...] = ()
    """What is wrong with the node while no job runs there."""


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


def task_of(fold: JobFold, rank: int) -> TaskView | None:
    """Return the current task that holds a rank."""
    return next((view for view in fold.tasks.values() if rank in view.ranks), None)


def has_finished(fold: JobFold, view: TaskView) -> bool:
    """Tell whether all ranks of the task exited with 0."""
    return bool(view.ranks) and all(fold.endings.get(rank) is Ending.FINISHED for rank in view.ranks)


def is_stale(fold: JobFold, message: Message) -> bool:
    """Tell whether a message is of an older generation or of a task that is not placed any more."""
    if message.generation is not None and message.generation < fold.generation:
        return True
    return message.task is not None and message.task not in fold.tasks


def fault(
    fold: JobFold,
    cause: Message,
    evidence: Evidence,
    *,
    id: EventId,  # noqa: A002 - the envelope's own word
    now: AwareDatetime,
    occurred: AwareDatetime,
    subject: str,
    because: str,
    view: TaskView | None = None,
) -> FaultDetected:
    """Return FaultDetected about a subject of the current placement, of the current generation at the oldest."""
    about = envelope(
        cause,
        time=now,
        job=fold.job,
        task=view.ref.uid if view is not None else None,
        node=view.node if view is not None else None,
        generation=max(cause.generation or 0, fold.generation),
        incident=None,
    )
    return FaultDetected(**about, id=id, subject_name=subject, occurred=occurred, evidence=evidence, because=because)


def opened(fold: JobFold, key: str, said: FaultDetected) -> JobFold:
    """Return the fold in which this fault is open and its episode counted."""
    entry = OpenFault(id=said.id, subject_name=said.subject_name, task=said.task, node=said.node)
    return change(
        fold,
        open={**fold.open, key: entry},
        episodes={**fold.episodes, key: fold.episodes.get(key, 0) + 1},
    )


def cleared(
    fold: JobFold, key: str, cause: Message, *, now: AwareDatetime, because: str
) -> tuple[JobFold, tuple[FaultCleared, ...]]:
    """Return the fold without the fault under ``key`` and FaultCleared, or nothing said if none was open."""
    entry = fold.open.get(key)
    if entry is None:
        return fold, ()
    about = envelope(
        cause,
        time=now,
        job=fold.job,
        task=entry.task,
        node=entry.node,
        generation=fold.generation,
        cause=entry.id,
        incident=None,
    )
    said = FaultCleared(**about, id=consequence_id("FaultCleared", entry.id), because=because)
    return change(fold, open={k: v for k, v in fold.open.items() if k != key}), (said,)
