"""The one entry: which fold a message belongs to and which room decides on it."""

from collections.abc import Iterable
from datetime import datetime

from keepstep.contracts.events import (
    AgentHeard,
    DeadlinePassed,
    DeviceReported,
    ExitSuspected,
    FirstStepDone,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobStarted,
    JobStopRequested,
    JobSucceeded,
    LogMatched,
    NodeReported,
    PlanApplied,
    PublicFaultReported,
    RankExited,
    RankRecovered,
    RanksStarted,
    RankStalled,
    RecoveryPlanned,
    RecoveryStarted,
    ReportPlaced,
    ReportRead,
    SilenceSuspected,
    StallPassed,
    StallSuspected,
    TaskJoined,
    TaskLost,
)
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Message
from keepstep.core.decision import Deadline, Decision
from keepstep.core.forgetting import forget_at, recalled
from keepstep.detector.core import follow, nodes, observe, suspect
from keepstep.detector.core.state import Fold, JobFold, NodeFold, change, dropped

LIFE: tuple[type[Message], ...] = (
    JobAccepted,
    TaskJoined,
    JobStarted,
    RanksStarted,
    RecoveryPlanned,
    RecoveryStarted,
    FirstStepDone,
    JobSucceeded,
    JobFailed,
    JobStopRequested,
    JobDeleted,
)
SEEN: tuple[type[Message], ...] = (
    RankExited,
    RankStalled,
    RankRecovered,
    LogMatched,
    TaskLost,
    PlanApplied,
    DeviceReported,
    NodeReported,
    PublicFaultReported,
    ReportRead,
    ReportPlaced,
)
SUSPECTED: tuple[type[Message], ...] = (SilenceSuspected, AgentHeard, StallSuspected, StallPassed, ExitSuspected)
HEARS = (*LIFE, *SEEN, *SUSPECTED)


def fold_key(message: Message) -> str | None:
    """Return the job's uid, else the node's name; a report about a node is the node's, whoever's agent reports it.

    A node without a name is none: nothing can be said of it.
    """
    if message.job is None or (isinstance(message, nodes.REPORTS) and message.node):
        return message.node or None
    return message.job.uid


def decide(fold: Fold | None, message: Message, now: datetime) -> Decision[Fold]:
    """Return what the message makes of the job or node, and the faults to be said."""
    known = _fresh(message) if fold is None else fold.of
    if isinstance(known, NodeFold):
        return _wrap(_of_node(known, message, now))
    fresh = JobFold(pool=known.pool, job=known.job)
    job = recalled(None if fold is None else known, fresh, message, now)
    return _wrap(_of_ended(job, message, now) if job.ended else _of_job(job, message, now))


def _fresh(message: Message) -> JobFold | NodeFold:
    """Return the fold of a job that begins, or of a node that nothing was heard of.

    A deadline that outlived the fold of its node leaves none behind.
    """
    outlived = isinstance(message, DeadlinePassed)
    key = message.scope if isinstance(message, DeadlinePassed) else fold_key(message)
    if message.job is not None and key == message.job.uid:
        return JobFold(pool=message.pool, job=message.job)
    assert key is not None  # noqa: S101 - fold_key lets nothing else through
    return NodeFold(pool=message.pool, node=NodeName(key), forgotten=outlived)


def _wrap(decision: Decision[JobFold] | Decision[NodeFold]) -> Decision[Fold]:
    return Decision(Fold(of=decision.state), decision.says, decision.because)


def _of_node(node: NodeFold, message: Message, now: datetime) -> Decision[NodeFold]:
    match message:
        case DeviceReported() | NodeReported() | PublicFaultReported() | ReportRead():
            return nodes.noted(node, message, now)
        case ReportPlaced():
            return nodes.brought(node, message, now)
        case _:
            return nodes.due(node, message, now)


def _of_ended(job: JobFold, message: Message, now: datetime) -> Decision[JobFold]:
    """Nothing hurts a job that is over; what was reported of a node while it ended still hurts the node."""
    if isinstance(message, ReportPlaced) and message.active:
        return observe.handed_back(job, message, now)
    return Decision(job)


def _of_job(fold: JobFold, message: Message, now: datetime) -> Decision[JobFold]:
    match message:
        case JobSucceeded() | JobFailed() | JobStopRequested() | JobDeleted():
            return Decision(follow.ended(fold, now))
        case SilenceSuspected() | AgentHeard() | StallSuspected() | StallPassed() | ExitSuspected():
            return _suspected(fold, message, now)
        case (
            JobAccepted()
            | TaskJoined()
            | JobStarted()
            | RanksStarted()
            | RecoveryPlanned()
            | RecoveryStarted()
            | FirstStepDone()
        ):
            return Decision(_followed(fold, message))
        case _:
            return _observed(fold, message, now)


def _followed(
    fold: JobFold,
    message: JobAccepted | TaskJoined | JobStarted | RanksStarted | RecoveryPlanned | RecoveryStarted | FirstStepDone,
) -> JobFold:
    match message:
        case JobAccepted():
            return follow.accepted(fold, message)
        case TaskJoined():
            return follow.joined(fold, message)
        case JobStarted() | RanksStarted():
            return follow.placed(fold, message)
        case RecoveryPlanned():
            return follow.planned(fold, message)
        case RecoveryStarted():
            return follow.restarted(fold, message)
        case FirstStepDone():
            return change(fold, marks=True)


def _suspected(
    fold: JobFold,
    message: SilenceSuspected | AgentHeard | StallSuspected | StallPassed | ExitSuspected,
    now: datetime,
) -> Decision[JobFold]:
    match message:
        case SilenceSuspected():
            return suspect.silence(fold, message, now)
        case AgentHeard():
            return suspect.heard(fold, message, now)
        case StallSuspected():
            return suspect.hang(fold, message, now)
        case StallPassed():
            return suspect.passed(fold, message, now)
        case ExitSuspected():
            return suspect.exit_unreported(fold, message, now)


def _observed(fold: JobFold, message: Message, now: datetime) -> Decision[JobFold]:  # noqa: PLR0911 - one per kind
    match message:
        case RankExited():
            return observe.exited(fold, message, now)
        case RankStalled():
            return observe.stalled(fold, message, now)
        case RankRecovered():
            return observe.recovered(fold, message, now)
        case LogMatched():
            return observe.matched(fold, message, now)
        case TaskLost():
            return observe.lost(fold, message, now)
        case PlanApplied():
            return observe.applied(fold, message, now)
        case ReportPlaced():
            return observe.reported(fold, message, now)
        case DeviceReported() | NodeReported() | PublicFaultReported() | ReportRead():
            return Decision(dropped(fold), because="a report that names no node is about nothing")
        case _:
            return Decision(fold)


def effects(fold: Fold) -> Iterable[nodes.Relay]:
    """Return the reports of a node that are still to be brought to its jobs."""
    match fold.of:
        case JobFold():
            return ()
        case NodeFold():
            return nodes.relays(fold.of)


def deadlines(fold: Fold) -> Iterable[Deadline]:
    """Return when an ended job or a quiet node is forgotten, and when faults of a node end by themselves."""
    match fold.of:
        case JobFold():
            return () if fold.of.forgotten else forget_at(fold.of.ended_at)
        case NodeFold():
            return nodes.deadlines(fold.of)


def over(fold: Fold) -> bool:
    """Tell whether the fold may be dropped."""
    return fold.of.forgotten
