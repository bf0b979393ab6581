"""A message to people on its way: for an address it waits in this fold, for a channel in that channel's own."""

from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import quote

from keepstep.contracts import events as e
from keepstep.contracts.events import NotificationQueued
from keepstep.contracts.ids import EventId, consequence_id, derive
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.notice import Link
from keepstep.contracts.taxonomy import Severity
from keepstep.notifier.core.alerts import Alert
from keepstep.notifier.core.endings import louder
from keepstep.notifier.core.rules import Recipient
from keepstep.notifier.core.state import Pending, Story
from keepstep.notifier.core.words import Words
from keepstep.ports.sink import About


@dataclass(frozen=True)
class Letter:
    """What is told, before it is known by which way it goes."""

    origin: Message
    """The envelope of what is told."""
    event: str
    words: Words
    alert: Alert
    thread: str
    number: int
    subject: str = ""
    links: tuple[Link, ...] = ()


def letter(message: Message, words: Words, alert: Alert, place: tuple[str, int], *, console: str) -> Letter:
    """Return what is told of the message in its place: thread and number."""
    return Letter(
        Message(id=message.id, **envelope(message, cause=message.cause)),
        type(message).__name__,
        words,
        alert,
        *place,
        subject=subject_of(message),
        links=links_of(message, console),
    )


def by_address(told: Letter, sink: str, *, about: About | None = None, weight: Severity | None = None) -> Pending:
    """Return it as it waits for a sink that a rule names by its address, or for the log."""
    return Pending(
        id=derive("notice", told.origin.id, sink),
        origin=told.origin,
        sink=sink,
        thread=told.thread,
        sequence=told.number,
        severity=told.words.severity,
        weight=_beyond(weight, told),
        title=told.words.title,
        text=told.words.text,
        facts=told.words.facts,
        about=about,
        kind=told.alert.kind,
        stage=told.alert.stage,
        event=told.event,
        subject=told.subject,
        links=told.links,
    )


def by_channel(told: Letter, to: Recipient, now: datetime) -> NotificationQueued:
    """Return the word to the channel's own queue."""
    notice = derive("notice", told.origin.id, to.sink)
    return NotificationQueued(
        id=consequence_id("NotificationQueued", EventId(told.origin.id), subject=notice),
        **envelope(told.origin, time=now),
        channel=to.sink,
        notice=notice,
        thread=told.thread,
        sequence=told.number,
        severity=told.words.severity,
        weight=_beyond(to.weight, told),
        kind=told.alert.kind,
        stage=told.alert.stage,
        event=told.event,
        at=told.origin.time,
        subject=told.subject,
        title=told.words.title,
        text=told.words.text,
        facts=told.words.facts,
        links=told.links,
        mention=to.mention,
        hold=to.hold,
        gather=to.gather,
    )


def _beyond(weight: Severity | None, told: Letter) -> Severity | None:
    """Return the weight of a message that is louder to its sink than by itself, None for any other."""
    own = told.words.severity
    return None if weight is None or louder(own, weight) is own else weight


def links_of(message: Message, console: str) -> tuple[Link, ...]:
    """Return where to look further; ``console`` is the address of its pages, none without it."""
    if not console:
        return ()
    base = console.rstrip("/")
    found = []
    if message.incident is not None:
        incident = f"{base}/incidents/{quote(message.incident, safe='')}"
        found += [Link(label="incident", url=incident), Link(label="evidence", url=f"{incident}#h-evidence")]
    if message.job is not None:
        found.append(Link(label="job", url=f"{base}/jobs/{quote(message.job.uid, safe='')}"))
    return tuple(found) or (Link(label="console", url=f"{base}/"),)


def subject_of(message: Message) -> str:
    """Return what it is about beside its job, as people call it."""
    match message:
        case e.RecoveryPlanned() | e.RecoveryFailed() | e.JobResumed():
            return str(message.level)
        case e.DeviceIsolated() | e.DeviceReleased():
            return f"device {message.node}/{message.device}"
        case e.FaultDiagnosed() if message.verdict.culprit is not None and message.verdict.culprit.node is not None:
            return f"node {message.verdict.culprit.node}"
        case _ if message.node is not None:
            return f"node {message.node}"
        case _:
            return "" if message.job is not None else f"pool {message.pool}"


def namespace_of(kind: str) -> str:
    """Return the namespace of a job's object as JobFound names it: ``default`` of ``PyTorchJob default/llama``."""
    return kind.partition(" ")[2].rpartition("/")[0]


def timed(words: Words, message: Message, story: Story | None) -> Words:
    """Return the words with how long after the beginning of its incident this is; accounts say it themselves.

    None where it is days, as of a release.
    """
    accounted = isinstance(message, e.IncidentClosed) and message.accounts is not None
    freed = isinstance(message, e.NodeReleased | e.DeviceReleased)
    seconds = 0.0 if story is None or accounted or freed else (message.time - story.opened).total_seconds()
    return replace(words, facts=(*words.facts, ("after", f"{seconds:.1f} s"))) if seconds >= 0.05 else words


def numbered(words: Words, count: int) -> Words:
    """Return the words with how many dead letters they are the last of."""
    return replace(words, facts=(*words.facts, ("dead letters", str(count)))) if count > 1 else words
