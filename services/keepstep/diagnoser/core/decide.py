"""The one entry: which room decides on a message."""

from collections.abc import Iterable
from datetime import datetime

from keepstep.contracts.events import (
    CheckpointChosen,
    DeadlinePassed,
    EvidenceCaptured,
    FaultCleared,
    FaultDetected,
    IncidentAcknowledged,
    IncidentClosed,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobStarted,
    JobStopRequested,
    JobSucceeded,
    RanksStarted,
    RecoveryPlanned,
    RecoveryStarted,
    TaskJoined,
)
from keepstep.contracts.ids import consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.orders import AckIncident
from keepstep.core import placement
from keepstep.core.decision import Deadline, Decision
from keepstep.core.forgetting import forget_at, recalled
from keepstep.diagnoser.core import diagnose, follow, outside_jobs, without_verdict
from keepstep.diagnoser.core.overdue import overdue
from keepstep.diagnoser.core.state import JobFold

HEARS: tuple[type[Message], ...] = (
    DeadlinePassed,
    FaultDetected,
    FaultCleared,
    EvidenceCaptured,
    AckIncident,
    JobAccepted,
    TaskJoined,
    JobStarted,
    RanksStarted,
    CheckpointChosen,
    RecoveryPlanned,
    RecoveryStarted,
    IncidentClosed,
    JobSucceeded,
    JobFailed,
    JobStopRequested,
    JobDeleted,
)


def fold_key(message: Message) -> str | None:
    """Return the job's uid, or the node of a fault that hurts no job; nothing else is diagnosed here."""
    if message.job is None and isinstance(message, FaultDetected):
        return message.node
    return message.job.uid if message.job is not None else None


def decide(fold: JobFold | None, message: Message, now: datetime) -> Decision[JobFold]:  # noqa: PLR0911 - one return per kind of message
    """Return what the message makes of the job's incident, and the verdict once it is due."""
    fresh = JobFold(pool=message.pool, job=message.job)
    if message.job is None:
        return outside_jobs.heard(fold or fresh, message, now)
    fold = recalled(fold, fresh, message, now)
    if fold.ended:
        return Decision(fold)
    match message:
        case FaultDetected():
            return diagnose.faulted(fold, message, now)
        case FaultCleared():
            return without_verdict.cleared(fold, message, now)
        case DeadlinePassed():
            return diagnose.due(fold, message, now)
        case AckIncident():
            return _acknowledged(fold, message, now)
        case IncidentClosed():
            return diagnose.closed(fold, message, now)
        case JobSucceeded() | JobFailed() | JobStopRequested() | JobDeleted():
            return Decision(follow.ended(fold, now))
        case _:
            return Decision(_followed(fold, message))


def _followed(fold: JobFold, message: Message) -> JobFold:  # noqa: PLR0911 - one return per kind of message
    match message:
        case JobAccepted():
            return follow.accepted(fold, message)
        case TaskJoined():
            return placement.joined(fold, message)
        case JobStarted() | RanksStarted():
            return placement.placed(fold, message)
        case CheckpointChosen():
            return follow.chosen(fold, message)
        case RecoveryPlanned():
            return follow.planned(fold, message)
        case RecoveryStarted():
            return follow.restarted(fold, message)
        case EvidenceCaptured():
            return follow.captured(fold, message)
        case _:
            return fold


def _acknowledged(fold: JobFold, order: AckIncident, now: datetime) -> Decision[JobFold]:
    """Record that a person looks after an incident, open or not."""
    said = IncidentAcknowledged(
        **envelope(order, time=now), id=consequence_id("IncidentAcknowledged", order.id), by=order.by
    )
    return Decision(fold, (said,), f"{order.by} looks after it")


def deadlines(fold: JobFold) -> Iterable[Deadline]:
    """Return when the verdict is due, if one is, when the incident is overdue, and when job or node is forgotten."""
    if not fold.forgotten:
        yield from forget_at(fold.ended_at)
    yield from overdue(fold)
    if fold.incident is not None and fold.incident.attempt.settle is not None:
        attempt = fold.incident.attempt
        yield Deadline(what=diagnose.settling(attempt.number), due=fold.incident.attempt.settle)


def over(fold: JobFold) -> bool:
    """Tell whether the fold may be dropped."""
    return fold.forgotten
