"""What each message means to people: how urgent it is, a title and a sentence. What has no words is not told."""

from dataclasses import dataclass, replace
from functools import singledispatch

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Outcome, Severity
from keepstep.contracts.topology import Culprit
from keepstep.core.sentences import counted
from keepstep.notifier.core import dead_letters

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


def _told(message: Message, title: str, text: str, *facts: tuple[str, str]) -> Words:
    return Words(SEVERITIES.get(type(message), Severity.INFO), title, text, facts)


def _name(message: Message) -> str:
    """Return what the message is about, as people call it."""
    if message.job is not None:
        return f"job {message.job.name}"
    return f"pool {message.pool}" if message.node is None else f"node {message.node}"


@words.register
def _opened(message: e.IncidentOpened) -> Words:
    return _told(message, f"Fault in {_name(message)}", message.because)


@words.register
def _diagnosed(message: e.FaultDiagnosed) -> Words:
    verdict = message.verdict
    revised = " (revised)" if message.revision else ""
    return _told(
        message,
        f"Cause in {_name(message)}: {verdict.category}{revised}",
        verdict.because,
        ("category", str(verdict.category)),
        *_blamed(verdict.culprit),
        ("attempt", str(message.attempt)),
        ("rule", verdict.rule),
    )


def _blamed(culprit: Culprit | None) -> tuple[tuple[str, str], ...]:
    if culprit is None:
        return (("culprit", "not known"),)
    named = {"node": culprit.node, "rank": culprit.rank, "device": culprit.device}
    return tuple((what, str(which)) for what, which in named.items() if which is not None)


@words.register
def _planned(message: e.RecoveryPlanned) -> Words:
    resume = "scratch" if message.resume_step is None else f"step {message.resume_step}"
    facts = (("level", str(message.level)), ("resume from", resume), ("attempt", str(message.attempt)))
    return _told(message, f"Recovering {_name(message)}: {message.level}", message.because, *facts)


@words.register
def _not_recovered(message: e.RecoveryFailed) -> Words:
    facts = (("level", str(message.level)), ("attempt", str(message.attempt)))
    return _told(message, f"Recovery of {_name(message)} failed: {message.level}", message.because, *facts)


@words.register
def _resumed(message: e.JobResumed) -> Words:
    title, lost = f"{_name(message).capitalize()} steps again", _lost(message.lost_steps, estimated=message.estimated)
    return _told(message, title, message.because, ("level", message.level), ("lost steps", lost))


def _lost(steps: int | None, *, estimated: bool) -> str:
    return "not known" if steps is None else f"{steps}{' (estimated)' * estimated}"


@words.register
def _closed(message: e.IncidentClosed) -> Words:
    title = f"Incident of {_name(message)} closed: {message.outcome}"
    levels = " > ".join(message.levels) or "none"
    facts = [("outcome", str(message.outcome)), ("category", str(message.category))]
    facts += [("levels", levels), ("attempts", str(message.attempts))]
    if message.accounts is not None:
        facts.append(("seconds", f"{message.accounts.wall_s:.1f}"))
        facts.append(("lost steps", _lost(message.accounts.lost_steps, estimated=message.accounts.estimated)))
    if message.group is not None:
        facts.append(("group", message.group))
    return Words(OUTCOMES[message.outcome], title, message.because, tuple(facts))


@words.register
def _overdue(message: e.IncidentOverdue) -> Words:
    since = message.opened.isoformat(timespec="seconds")
    return _told(message, f"Incident of {_name(message)} is still open", message.because, ("open since", since))


@words.register
def _acknowledged(message: e.IncidentAcknowledged) -> Words:
    return _told(message, f"Incident of {_name(message)} acknowledged", f"{message.by} looks after it")


@words.register
def _isolated(message: e.NodeIsolated) -> Words:
    until = "released by hand" if message.until is None else f"{message.until.isoformat(timespec='minutes')}"
    facts = (("why", message.reason), ("until", until), *_shared(message))
    return _told(message, f"Node {message.node} isolated", message.because, *facts)


@words.register
def _device_isolated(message: e.DeviceIsolated) -> Words:
    title = f"Device {message.device} of node {message.node} isolated"
    return _told(message, title, message.because, ("why", message.reason), *_shared(message))


@words.register
def _declined(message: e.IsolationDeclined) -> Words:
    dry = " (dry run)" if message.dry_run else ""
    shared = _shared(message)
    title = f"Node {message.node or 'without a name'} not isolated{dry}"
    told = _told(message, _title_shared(message) if shared else title, message.because, *shared)
    return _held(message, told) if message.held else told


def _held(message: e.IsolationDeclined, told: Words) -> Words:
    """Return what calls a person: no rule isolates anything any more, so broken nodes stay in."""
    title = f"Isolation stopped: node {message.node or 'without a name'} waits for a person"
    return replace(told, severity=Severity.CRITICAL, title=title)


def _title_shared(message: e.IsolationDeclined) -> str:
    return f"{message.incidents} incidents share one cause, {_name(message)} too"


def _shared(message: e.NodeIsolated | e.DeviceIsolated | e.IsolationDeclined) -> tuple[tuple[str, str], ...]:
    """Return how many incidents of its group there are, so that one cause is not looked for in each."""
    if message.group is None or message.incidents < 2:
        return ()
    return (("incidents of one cause", str(message.incidents)), ("group", message.group))


@words.register
def _released(message: e.NodeReleased) -> Words:
    return _told(message, f"Node {message.node} released", message.because)


@words.register
def _device_released(message: e.DeviceReleased) -> Words:
    return _told(message, f"Device {message.device} of node {message.node} released", message.because)


@words.register
def _drained(message: e.NodeDrained) -> Words:
    left = (("still there", ", ".join(message.left)),) if message.left else ()
    told = _told(message, f"Node {message.node} drained", message.because, *left)
    return replace(told, severity=Severity.WARNING) if message.left else told


@words.register
def _not_released(message: e.ReleaseDeclined) -> Words:
    return _told(message, f"Node {message.node or 'without a name'} not released", message.because)


@words.register
def _started(message: e.JobStarted) -> Words:
    nodes = ", ".join(sorted({placed.node for placed in message.placement})[:16])
    tasks = counted(len(message.placement), "task")
    return _told(message, f"{_name(message).capitalize()} started", f"{tasks} on {nodes}")


@words.register
def _waiting(message: e.JobWaiting) -> Words:
    why = "is suspended" if message.suspended else "waits for a place"
    return _told(message, f"{_name(message).capitalize()} {why}", message.because)


@words.register
def _succeeded(message: e.JobSucceeded) -> Words:
    last = "" if message.step is None else f" at step {message.step}"
    return _told(message, f"{_name(message).capitalize()} succeeded", f"all ranks ended well{last}")


@words.register
def _failed(message: e.JobFailed) -> Words:
    line = (("last line", message.last_line),) if message.last_line else ()
    title = f"{_name(message).capitalize()} failed: {message.category}"
    return _told(message, title, message.because, ("category", str(message.category)), *line)


@words.register
def _stopped(message: e.JobStopRequested) -> Words:
    why = f": {message.reason}" if message.reason else ""
    return _told(message, f"{_name(message).capitalize()} is being stopped", f"asked for by {message.by}{why}")


@words.register
def _paused(message: e.ActionsPaused) -> Words:
    return _told(message, f"Actions paused for {_name(message)}", f"by {message.by}: observed, nothing acted on")


@words.register
def _unpaused(message: e.ActionsResumed) -> Words:
    return _told(message, f"Actions resumed for {_name(message)}", f"by {message.by}")


@words.register
def _blinded(message: e.DetectorBlinded) -> Words:
    return _told(message, f"Detector of pool {message.pool} is blind", message.because)


@words.register
def _sighted(message: e.DetectorSighted) -> Words:
    return _told(message, f"Detector of pool {message.pool} sees again", f"{counted(message.total, 'agent')} heard")


@words.register
def _dead_lettered(message: e.DeadLettered) -> Words:
    number = (("dead letter", str(message.number)),) if message.number else ()
    if message.about in e.DELIVERIES:
        return _told(message, dead_letters.title(message), message.because, *dead_letters.facts(message), *number)
    title = f"{message.service} could not take a {message.about}"
    return _told(message, title, message.because, ("service", message.service), ("message", message.about), *number)
