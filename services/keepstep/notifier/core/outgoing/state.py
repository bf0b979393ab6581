"""What is remembered of one channel: what waits to go out, what is on its way, and when it was called lately."""

from dataclasses import dataclass, field

from pydantic import AwareDatetime, Field

from keepstep.contracts.events import NotificationQueued
from keepstep.contracts.model import Frozen

REMEMBERED = 1024
"""Messages and threads known to have been queued, so that one said again is told once."""
ROOM = 4096
"""Messages that wait; the next ones go to the dead letters, where they can be sent again."""
WHOLE = 64
"""Of those, what is kept with text and facts: what waits behind so many goes out as a line of a digest."""


class Waiting(Frozen):
    """One message that is to go out, not before ``due``."""

    queued: NotificationQueued
    due: AwareDatetime
    at: AwareDatetime
    """When it came here."""
    lot: str = ""
    """What it goes out together with; empty: alone, if the channel's limit has room for that."""


class Sending(Frozen):
    """What is on its way: one message, or several as a digest. A channel has one call at a time, so order holds."""

    id: str
    items: tuple[Waiting, ...]
    since: AwareDatetime
    number: int | None = None
    """Which message of its thread it is to this channel; None of several threads, and in folds of earlier versions."""
    tries: int = 0
    again: AwareDatetime | None = None
    """Not before then, after a try that failed; None is now."""


class Dead(Frozen):
    """A message that is on its way to the dead letters."""

    item: Waiting
    because: str
    code: str = ""


class Outgoing(Frozen):
    """The queue of one channel."""

    waiting: tuple[Waiting, ...] = ()
    """In the order in which they came."""
    sending: Sending | None = None
    dead: tuple[Dead, ...] = ()
    calls: tuple[AwareDatetime, ...] = ()
    """When the vendor was called in the last minute, oldest first."""
    wake: AwareDatetime | None = None
    """When the next one may go out."""
    known: tuple[str, ...] = ()
    """Notices that were queued here."""
    threads: tuple[str, ...] = ()
    """Threads that a channel which takes one message of each has had."""
    sent: dict[str, int] = Field(default_factory=dict)
    """Messages of each thread that arrived, of the newest threads."""

    @property
    def idle(self) -> bool:
        """Whether nothing is left to be done."""
        return not self.waiting and self.sending is None and not self.dead


@dataclass(frozen=True)
class Send:
    """Try once to bring what is on its way to the channel."""

    sending: Sending = field(repr=False)

    @property
    def channel(self) -> str:
        """The channel's name."""
        return self.sending.items[0].queued.channel

    @property
    def id(self) -> str:
        """One per try."""
        return f"send/{self.sending.id}/{self.sending.tries}"


@dataclass(frozen=True)
class Bury:
    """Put what was given up among the dead letters, and say so."""

    dead: Dead = field(repr=False)

    @property
    def id(self) -> str:
        """One per message and the time it was queued: sent again from the letters, it may die once more."""
        return f"bury/{self.dead.item.queued.notice}/{self.dead.item.at.isoformat()}"
