"""The one entry: which fold a message belongs to and which room decides on it."""

from collections.abc import Iterable
from datetime import datetime, timedelta

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
    SilenceSuspected,
    StallPassed,
    StallSuspected,
    TaskJoined,
    TaskLost,
)
from keepstep.contracts.message import Message
from keepstep.core.decision import Deadline, Decision
from keepstep.detector.core import follow, nodes, observe, suspect
from keepstep.detector.core.state import Fold, JobFold, NodeFold, change

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
    ReportPlaced,
)
SUSPECTED: tuple[type[Message], ...] = (SilenceSuspected, AgentHeard, StallSuspected, StallPassed, ExitSuspected)
HEARS = (*LIFE, *SEEN, *SUSPECTED)


FORGET = "forget"
KEPT = timedelta(days=1)
"""An ended job is remembered this long, so that late messages of it change nothing."""


def fold_key(message: Message) -> str | None:
    """Return the job's uid, else the node's name; nothing else is for the detector."""
    return message.job.uid if message.job is not None else message.node


def decide(fold: Fold | None, message: Message, now: datetime) -> Decision[Fold]:
    """Return what the message makes of the job or node, and the faults to be said."""
    if message.job is None:
        return _wrap(_of_node(fold, message, now))
    job = fold.of if fold is not None else JobFold(pool=message.pool, job=message.job)
    assert isinstance(job, JobFold), f"fold of {message.job.uid} is about a node"  # noqa: S101 - keys do not mix
    if job.ended:
        passed = isinstance(message, DeadlinePassed) and message.what == FORGET
        return _wrap(Decision(change(job, forgotten=True) if passed else job))
    return _wrap(_of_job(job, message, now))


def _wrap(decision: Decision[JobFold] | Decision[NodeFold]) -> Decision[Fold]:
    return Decision(Fold(of=decision.state), decision.says, decision.because)


def _of_node(fold: Fold | None, message: Message, now: datetime) -> Decision[NodeFold]:
    assert message.node is not None  # noqa: S101 - fold_key lets nothing else through
    node = fold.of if fold is not None else NodeFold(pool=message.pool, node=message.node)
    assert isinstance(node, NodeFold), f"fold of {message.node} is about a job"  # noqa: S101 - keys do not mix
    match message:
        case DeviceReported() | NodeReported() | PublicFaultReported():
            return nodes.noted(node, message, now)
        case ReportPlaced():
            return nodes.brought(node, message, now)
        case _:
            return Decision(node)


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
        case DeviceReported() | NodeReported() | PublicFaultReported():
            return observe.reported(fold, message, nodes.evidence_of(message), active=message.active, now=now)
        case ReportPlaced():
            return observe.reported(fold, message, message.evidence, active=message.active, now=now)
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
    """Return when an ended job is forgotten."""
    match fold.of:
        case JobFold(ended_at=ended_at, forgotten=False) if ended_at is not None:
            return (Deadline(what=FORGET, due=ended_at + KEPT),)
        case _:
            return ()


def over(fold: Fold) -> bool:
    """Tell whether the fold may be dropped."""
    return isinstance(fold.of, JobFold) and fold.of.forgotten
