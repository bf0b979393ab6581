"""How urgently a person should look at a message: the colour of its line."""

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Outcome, Severity

CRITICAL: tuple[type[Message], ...] = (
    e.JobFailed,
    e.RecoveryFailed,
    e.DetectorBlinded,
    e.IncidentOverdue,
    e.DeadLettered,
    e.NotificationDropped,
)
WARNING: tuple[type[Message], ...] = (
    e.FaultDetected,
    e.FaultDiagnosed,
    e.IncidentOpened,
    e.NodeIsolated,
    e.DeviceIsolated,
    e.IsolationDeclined,
    e.ReleaseDeclined,
    e.NodeRelapsed,
    e.TaskLost,
    e.RankStalled,
    e.LogMatched,
    e.AccessRefused,
    e.JobWaiting,
    e.RestartFailed,
    e.SilenceSuspected,
    e.StallSuspected,
    e.ExitSuspected,
)


def severity_of(message: Message) -> Severity:
    """Return how urgent it is."""
    match message:
        case e.IncidentClosed(outcome=Outcome.FAILED):
            return Severity.CRITICAL
        case e.RankExited(ordered=False):
            failed = message.exit.code != 0
            return Severity.WARNING if failed else Severity.INFO
        case e.DeviceReported() | e.NodeReported() | e.PublicFaultReported() | e.ReportRead():
            return Severity.WARNING if message.active else Severity.INFO
        case _ if isinstance(message, CRITICAL):
            return Severity.CRITICAL
        case _ if isinstance(message, WARNING):
            return Severity.WARNING
        case _:
            return Severity.INFO
