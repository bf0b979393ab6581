"""What is remembered of the messages about one job, node or pool: threads, and what is still to go out."""

from dataclasses import dataclass, field

from pydantic import AwareDatetime, Field

from keepstep.contracts.ids import EventId
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.notice import Link
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.taxonomy import AlertKind, Category, Severity, Stage
from keepstep.notifier.core.outgoing.state import Outgoing
from keepstep.ports.sink import About, Notice

TOLD = 512
"""Messages remembered as told: an incident says about ten."""
THREADS = 64
"""Threads whose numbering is remembered, newest last."""
QUEUE = 256
"""Messages that wait for a sink that is away; the next one is dropped and says so."""


class Pending(Frozen):
    """One message for one sink, until it is delivered or dropped."""

    id: str
    origin: Message
    """The envelope of what is told."""
    sink: str
    """The route's address; with its secret, so never said, logged or put into an id."""
    thread: str
    sequence: int
    severity: Severity
    weight: Severity | None = None
    title: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    about: About | None = None
    kind: AlertKind = AlertKind.STACK
    stage: Stage = Stage.NOTE
    event: str = ""
    subject: str = ""
    links: tuple[Link, ...] = ()
    tries: int = 0
    again: AwareDatetime | None = None
    """Not before then, after a try that failed; None is now."""
    since: AwareDatetime | None = None
    """When it came back from the dead letters; None the first time."""
    given_up: str = ""
    """Why, while it is on its way to the dead letters."""
    code: str = ""
    """What the sink answered last, in its own numbers."""

    @property
    def place(self) -> str:
        """What ids of its endings are derived from: sent again from the dead letters it ends once more."""
        return self.id if self.since is None else f"{self.id}/{self.since.isoformat()}"

    @property
    def notice(self) -> Notice:
        """What the sink gets."""
        return Notice(
            id=self.id,
            thread=self.thread,
            sequence=self.sequence,
            severity=self.severity,
            weight=self.weight,
            title=self.title,
            text=self.text,
            facts=self.facts,
            about=self.about,
            kind=self.kind,
            event=self.event,
            stage=self.stage,
            incident=self.origin.incident,
            job="" if self.origin.job is None else self.origin.job.name,
            subject=self.subject,
            at=self.origin.time,
            links=self.links,
        )


class Story(Frozen):
    """What is known of one incident's thread beside its number."""

    opened: AwareDatetime
    """When it began: at the fault itself, as soon as a verdict says when that was."""
    category: Category | None = None
    """Of its last verdict."""
    acknowledged: bool = False


class Loss(Frozen):
    """Messages that a channel did not take, for one reason."""

    last: AwareDatetime
    told: AwareDatetime
    """When people last heard of it."""
    untold: int = 0


class Climb(Frozen):
    """One step of an escalation, unless somebody acknowledges the incident before it is due."""

    id: str
    thread: str
    sink: str
    mention: tuple[str, ...] = ()
    due: AwareDatetime
    since: AwareDatetime
    title: str
    """Of the message that nobody has answered."""
    origin: Message


class Notices(Frozen):
    """The fold of one key: of a job, a node or the pool who was told what; of a channel alone what ``outgoing`` is."""

    policy: NotificationPolicy | None = None
    """The job's own routes; None where the pool's hold."""
    threads: dict[str, int] = Field(default_factory=dict)
    """Thread to the number of its last message."""
    addressed: dict[str, dict[str, int]] | None = None
    """Thread to how many of its messages went to each address, by a hash; a channel counts its own.

    None until something is told: in a fold of an earlier version each address may have had all that was told.
    """
    pending: tuple[Pending, ...] = ()
    """Oldest first; a sink gets the messages of a thread one after the other."""
    told: tuple[EventId, ...] = ()
    asked: tuple[EventId, ...] = ()
    """Verdicts and orders that ask for an isolation: only their refusal is news."""
    living: bool = False
    """A job that was accepted and is not over: its routes are needed, however quiet it is."""
    heard_at: AwareDatetime | None = None
    """When something was heard of it last."""
    forgotten: bool = False
    """It was quiet for so long that only what still waits for a sink keeps it."""
    namespace: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    """Of the job, as its object or specification has them."""
    hang_detection: bool = True
    alerted: tuple[str, ...] = ()
    """Kinds of alerts that are told once, with the incident where it is once each."""
    stories: dict[str, Story] = Field(default_factory=dict)
    audiences: dict[str, dict[str, Severity]] = Field(default_factory=dict)
    """Of threads that have no end yet: who was told, by a hash, and the loudest thing."""
    climbs: tuple[Climb, ...] = ()
    losses: dict[str, Loss] = Field(default_factory=dict)
    """Of the pool: by channel and reason."""
    outgoing: Outgoing | None = None
    """The queue of a channel; nothing else is in its fold."""

    def without(self, pending: Pending) -> "Notices":
        """Return the fold with this message done."""
        return self.model_copy(update={"pending": tuple(one for one in self.pending if one.id != pending.id)})

    def with_pending(self, pending: Pending) -> "Notices":
        """Return the fold with this message as it is now, in its place."""
        kept = tuple(pending if one.id == pending.id else one for one in self.pending)
        return self.model_copy(update={"pending": kept})


@dataclass(frozen=True)
class Deliver:
    """Try once to bring the message to its sink."""

    pending: Pending = field(repr=False)

    @property
    def id(self) -> str:
        """One per try."""
        return f"deliver/{self.pending.place}/{self.pending.tries}"


@dataclass(frozen=True)
class GiveUp:
    """Put the message among the dead letters, and say so."""

    pending: Pending = field(repr=False)

    @property
    def id(self) -> str:
        """One per message and the time it came."""
        return f"give up/{self.pending.place}"
