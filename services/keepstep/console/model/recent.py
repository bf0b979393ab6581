"""The newest events of the pool, for listings and for subscribers that were cut off for a moment."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from keepstep.console.model.severity import severity_of
from keepstep.console.views import EventListing, EventView
from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Severity
from keepstep.core.sentences import sentence

KEPT = 20_000
"""A day of a busy pool; at 1 KiB each they are 20 MB."""
MACHINERY: tuple[type[Message], ...] = (e.FoldRestated, e.DeadlinePassed)
"""What services say to themselves: no news to anybody else, and a third of a stream."""
LONGEST = 2000
"""Characters of a text: a line that a rank printed may be of any length."""


@dataclass(frozen=True)
class Wanted:
    """Which events are asked for; None asks for any."""

    job: str | None = None
    """Uid or name."""
    node: str | None = None
    incident: str | None = None
    """Its id, or its first digits."""
    name: str | None = None
    """Name of the message, as ``FaultDetected``; several with commas."""
    severity: Severity | None = None
    """This one and worse."""
    text: str | None = None
    """Found anywhere in the sentence, whatever the case."""
    since: datetime | None = None
    until: datetime | None = None

    def test(self) -> Callable[[EventView], bool]:
        """Return what tells whether an event is wanted."""
        names = None if self.name is None else frozenset(self.name.split(","))
        text = None if self.text is None else self.text.casefold()
        ranks = tuple(Severity)
        least = 0 if self.severity is None else ranks.index(self.severity)

        def wanted(event: EventView) -> bool:
            return (
                (names is None or event.name in names)
                and (least == 0 or ranks.index(event.severity) >= least)
                and (self.job is None or (event.job is not None and self.job in (event.job.uid, event.job.name)))
                and (self.node is None or event.node == self.node)
                and (self.incident is None or (event.incident or "").startswith(self.incident))
                and (self.since is None or event.time >= self.since)
                and (self.until is None or event.time < self.until)
                and (text is None or text in event.text.casefold())
            )

        return wanted


def event_view(message: Message, cursor: int) -> EventView:
    """Return a message as a listing shows it."""
    return EventView(
        cursor=cursor,
        id=message.id,
        time=message.time,
        name=type(message).__name__,
        text=sentence(message)[:LONGEST],
        severity=severity_of(message),
        job=message.job,
        node=message.node,
        task=message.task,
        generation=message.generation,
        incident=message.incident,
    )


class Recent:
    """The newest events, oldest first."""

    def __init__(self, kept: int = KEPT) -> None:
        self._events: deque[EventView] = deque(maxlen=kept)
        self.last = 0
        """Cursor of the newest message that was heard, kept or not."""

    def hear(self, message: Message, cursor: int) -> EventView | None:
        """Keep a message; return what is kept of it, None of what is the services' own business."""
        self.last = max(self.last, cursor)
        if isinstance(message, MACHINERY):
            return None
        event = event_view(message, cursor)
        self._events.append(event)
        return event

    @property
    def oldest(self) -> int:
        """Cursor of the oldest event that is kept; what is older stands in the stream alone."""
        return self._events[0].cursor if self._events else self.last + 1

    def listing(self, wanted: Wanted, *, before: int | None, limit: int) -> EventListing:
        """Return the newest events below the cursor ``before``, newest first."""
        test = wanted.test()
        found = (event for event in reversed(self._events) if (before is None or event.cursor < before) and test(event))
        items = tuple(islice(found, limit + 1))
        more = items[limit - 1].cursor if len(items) > limit else None
        return EventListing(items=items[:limit], next=more)

    def after(self, cursor: int) -> Iterator[EventView]:
        """Yield the events after a cursor, oldest first."""
        newer: list[EventView] = []
        for event in reversed(self._events):
            if event.cursor <= cursor:
                break
            newer.append(event)
        return reversed(newer)
