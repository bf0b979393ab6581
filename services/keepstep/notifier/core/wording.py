"""What a message to people is made of: how urgent it is, a title and a sentence."""

from dataclasses import dataclass
from functools import singledispatch

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Outcome, Severity

SEVERITIES: dict[type[Message], Severity] = {
    e.IncidentOpened: Severity.WARNING,
    e.FaultDiagnosed: Severity.WARNING,
    e.NodeIsolated: Severity.WARNING,
    e.DeviceIsolated: Severity.WARNING,
    e.IsolationDeclined: Severity.WARNING,
    e.ReleaseDeclined: Severity.WARNING,
    e.RecoveryFailed: Severity.WARNING,
    e.JobWaiting: Severity.WARNING,
    e.IncidentOverdue: Severity.CRITICAL,
    e.JobFailed: Severity.CRITICAL,
    e.DetectorBlinded: Severity.CRITICAL,
    e.DeadLettered: Severity.CRITICAL,
}
"""A person must act on critical ones and may look at warnings; everything else is for the record."""
OUTCOMES: dict[Outcome, Severity] = {
    Outcome.RESUMED: Severity.INFO,
    Outcome.CLEARED: Severity.INFO,
    Outcome.JOB_GONE: Severity.INFO,
    Outcome.FAILED: Severity.CRITICAL,
}


@dataclass(frozen=True)
class Words:
    """One message to people, before it is known who gets it."""

    severity: Severity
    title: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()


@singledispatch
def words(_message: Message) -> Words | None:
    """Return what people are told of this message, or None for what is only for machines."""
    return None


def told(message: Message, title: str, text: str, *facts: tuple[str, str]) -> Words:
    """Return words of a message, as urgent as its kind is."""
    return Words(SEVERITIES.get(type(message), Severity.INFO), title, text, facts)


def name_of(message: Message) -> str:
    """Return what the message is about, as people call it."""
    if message.job is not None:
        return f"job {message.job.name}"
    return f"pool {message.pool}" if message.node is None else f"node {message.node}"
