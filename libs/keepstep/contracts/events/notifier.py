"""Events that the notifier says."""

from datetime import timedelta

from pydantic import AwareDatetime

from keepstep.contracts.message import Event
from keepstep.contracts.notice import Link, Member
from keepstep.contracts.taxonomy import AlertKind, Severity, Stage

CHANNEL_KEY = "channel/"
"""What the keys of channels begin with, so that none is a job's or a node's."""


def channel_key(channel: str) -> str:
    """Return the key under which the messages of a channel are ordered, over all jobs."""
    return f"{CHANNEL_KEY}{channel}"


class NotificationQueued(Event):
    """A message is to go out by a channel; when it does is decided with all others of that channel.

    Among the dead letters alone there are such of an address: said again from there, the rules are asked for it.
    """

    channel: str
    """Empty for an address."""
    notice: str
    """The message's own id, the same at every try."""
    thread: str
    sequence: int
    severity: Severity
    kind: AlertKind
    stage: Stage
    event: str
    """Name of the message that is told."""
    at: AwareDatetime
    """When what is told happened."""
    subject: str = ""
    title: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    links: tuple[Link, ...] = ()
    mention: tuple[str, ...] = ()
    """People and groups by name; what vendors know them by stays in the channels file."""
    hold: AwareDatetime | None = None
    """Not before the end of the rule's quiet hours."""
    gather: timedelta = timedelta(0)
    """How long it may wait for others to go out with."""
    weight: Severity | None = None
    """How loud it is to minimum and quiet hours: an end as the loudest thing that the channel was told of its thread.
    None: as ``severity``."""
    address: str = ""
    """What tells a rule's address, which is a secret, from others: the end of a hash of it."""

    @property
    def loudness(self) -> Severity:
        """How loud it is to the channel's minimum and to quiet hours."""
        return self.weight or self.severity

    @property
    def key(self) -> str:
        """The channel, for its limits hold over all jobs; of an address, what the message is about."""
        return channel_key(self.channel) if self.channel else super().key


class NotificationDelivered(Event):
    """A message reached a sink."""

    sink: str
    severity: Severity
    title: str
    tries: int = 1
    channel: str = ""
    """Name of the channel; empty for a sink that a rule names by its address, and for the log."""
    code: str = ""
    """What the vendor answered, in its own numbers."""
    notice: str = ""
    calls: int = 1
    """Requests that it took, as the vendor counts them."""
    digest: str = ""
    """The digest that it went out in; empty if it went alone, or is the digest."""
    members: tuple[Member, ...] = ()
    """Of a digest, what went out in it; each has its own NotificationDelivered beside."""


class NotificationDropped(Event):
    """A message was given up, and why."""

    sink: str
    severity: Severity
    title: str
    because: str
    channel: str = ""
    code: str = ""
    """What the vendor answered last, in its own numbers."""
    notice: str = ""
    """It lies among the dead letters under it, and can be sent again from there."""


class NotificationDelayed(Event):
    """A message did not get through now; it is tried again, or given up after the last try."""

    notice: str
    sink: str
    tries: int
    again: AwareDatetime
    because: str
    channel: str = ""
    code: str = ""
    """What the vendor answered, in its own numbers."""
    calls: int = 1


DELIVERIES = frozenset(
    kind.__name__ for kind in (NotificationQueued, NotificationDelivered, NotificationDropped, NotificationDelayed)
)
"""What tells of messages to people: one of them among the dead letters is a message that nobody got."""
