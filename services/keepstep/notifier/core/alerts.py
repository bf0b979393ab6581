"""Of which kind a message is an alert, and where it takes the thread of its incident."""

from collections.abc import Mapping
from dataclasses import dataclass

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import AlertKind, Category, Outcome, Stage

STAGES: Mapping[type[Message], Stage] = {
    e.IncidentOpened: Stage.OPENED,
    e.FaultDiagnosed: Stage.DIAGNOSED,
    e.NodeIsolated: Stage.ISOLATED,
    e.DeviceIsolated: Stage.ISOLATED,
    e.IsolationDeclined: Stage.DECLINED,
    e.ReleaseDeclined: Stage.DECLINED,
    e.NodeReleased: Stage.RELEASED,
    e.DeviceReleased: Stage.RELEASED,
    e.NodeDrained: Stage.DRAINED,
    e.RecoveryPlanned: Stage.RECOVERING,
    e.RecoveryFailed: Stage.RETRYING,
    e.JobResumed: Stage.RESUMED,
    e.IncidentClosed: Stage.CLOSED,
    e.IncidentOverdue: Stage.OVERDUE,
    e.IncidentAcknowledged: Stage.ACKNOWLEDGED,
    e.JobStarted: Stage.RUNNING,
    e.JobWaiting: Stage.WAITING,
    e.JobSucceeded: Stage.SUCCEEDED,
    e.JobFailed: Stage.FAILED,
    e.JobStopRequested: Stage.STOPPED,
    e.ActionsPaused: Stage.PAUSED,
    e.ActionsResumed: Stage.UNPAUSED,
    e.DetectorBlinded: Stage.BLINDED,
    e.DetectorSighted: Stage.SIGHTED,
    e.DeadLettered: Stage.BURIED,
}
LIFE: Mapping[type[Message], AlertKind] = {
    e.JobStarted: AlertKind.JOB_RUNNING,
    e.JobWaiting: AlertKind.JOB_WAITING,
    e.JobSucceeded: AlertKind.JOB_SUCCEEDED,
    e.JobFailed: AlertKind.JOB_FAILED,
    e.JobStopRequested: AlertKind.JOB_STOPPED,
}
ONCE_A_JOB = frozenset({AlertKind.JOB_RUNNING, AlertKind.JOB_SUCCEEDED, AlertKind.JOB_FAILED})
NODES: tuple[type[Message], ...] = (
    e.NodeIsolated,
    e.DeviceIsolated,
    e.IsolationDeclined,
    e.NodeReleased,
    e.DeviceReleased,
    e.ReleaseDeclined,
    e.NodeDrained,
)
BROKEN = frozenset({Category.DEVICE_HARDWARE, Category.DEVICE_DRIVER, Category.NODE_HARDWARE})


@dataclass(frozen=True)
class Alert:
    """What rules match a message by."""

    kinds: tuple[AlertKind, ...]
    """The narrowest first: what it is told as. A verdict that a job hangs is also one message of its tolerance."""
    stage: Stage

    @property
    def kind(self) -> AlertKind:
        """What it is told as."""
        return self.kinds[0]


def alert(message: Message) -> Alert:
    """Return of which kinds the message is an alert, and its stage."""
    return Alert(_kinds(message), _stage(message))


def _stage(message: Message) -> Stage:
    match message:
        case e.IncidentClosed(outcome=Outcome.FAILED):
            return Stage.FAILED
        case e.IsolationDeclined(held=True):
            return Stage.HELD
        case e.JobWaiting(suspended=True):
            return Stage.SUSPENDED
        case e.JobWaiting(runs=True):
            return Stage.HELD
        case _:
            return STAGES.get(type(message), Stage.NOTE)


def category_of(message: Message) -> Category | None:
    """Return the cause that the message names."""
    match message:
        case e.FaultDiagnosed():
            return message.verdict.category
        case e.IncidentClosed() | e.JobFailed():
            return message.category
        case _:
            return None


def once(found: Alert, *, thread: str, hang_detection: bool, told: tuple[str, ...]) -> tuple[Alert | None, str]:
    """Return the alert as it is still news, None for one that was sent, and what to remember it by.

    Running, failed and succeeded are told once a job, a hang and a broken node once an incident: a revised verdict is
    one more message of the tolerance. Where nobody looks for hangs, none is called one.
    """
    kind = found.kind
    if kind in ONCE_A_JOB:
        return (None if kind in told else found), kind
    if kind not in (AlertKind.HANG, AlertKind.NODE_FAULT) or len(found.kinds) == 1:
        return found, ""
    mark = f"{kind}/{thread}"
    if mark in told or (kind is AlertKind.HANG and not hang_detection):
        return Alert(found.kinds[1:], found.stage), ""
    return found, mark


def _kinds(message: Message) -> tuple[AlertKind, ...]:
    if (life := LIFE.get(type(message))) is not None:
        return (life,)
    recovery = (AlertKind.TOLERANCE,) if message.job is not None and message.incident is not None else ()
    if isinstance(message, e.FaultDiagnosed):
        return (*_narrow(message.verdict.category), *recovery) or (AlertKind.TOLERANCE,)
    if isinstance(message, e.NodeIsolated | e.DeviceIsolated):
        return (AlertKind.NODE_FAULT, *recovery)
    if isinstance(message, NODES):
        return recovery or (AlertKind.NODE_FAULT,)
    if isinstance(message, e.IncidentOpened | e.IncidentClosed | e.IncidentOverdue | e.IncidentAcknowledged):
        return recovery or (AlertKind.NODE_FAULT,)
    return recovery or (AlertKind.STACK,)


def _narrow(category: Category) -> tuple[AlertKind, ...]:
    if category is Category.HANG:
        return (AlertKind.HANG,)
    return (AlertKind.NODE_FAULT,) if category in BROKEN else ()
