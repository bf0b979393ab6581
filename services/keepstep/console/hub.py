"""Hands what is new to everybody who listens, and waits for none of them.

Each subscriber has a queue of its own. One who does not keep up is told so and let go when it is full: he connects
again with the last cursor that he has seen, and is told what he missed as far as it is at hand.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NewType

from keepstep.console.views import EventView

QUEUE = 1000
"""Events that wait for one subscriber: what a fleet says in ten busy seconds."""
Line = NewType("Line", bytes)
"""One message of the stream as it goes over the wire."""


@dataclass(eq=False)
class Subscription:
    """One subscriber."""

    who: str
    wants: Callable[[EventView], bool]
    queue: "asyncio.Queue[Line]" = field(default_factory=lambda: asyncio.Queue(QUEUE))
    dropped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when he did not keep up, or when the console ends."""

    def put(self, line: Line) -> bool:
        """Leave a line for him; return whether there was room."""
        try:
            self.queue.put_nowait(line)
        except asyncio.QueueFull:
            self.dropped.set()
            return False
        return True


class Full(Exception):
    """There are as many subscribers as the console takes, of all or of one user."""


class Hub:
    """All subscribers."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._each = max(1, most // 2)
        """Of one user: nobody alone shuts the others out."""
        self._all: set[Subscription] = set()
        self.dropped = 0
        """Subscribers that did not keep up so far."""

    def __len__(self) -> int:
        return len(self._all)

    def join(self, who: str, wants: Callable[[EventView], bool]) -> Subscription:
        """Take in a subscriber; raises Full where he has half of all that are taken, or there are as many as that."""
        if len(self._all) >= self._most:
            raise Full("there are as many streams as are served")
        if sum(one.who == who for one in self._all) >= self._each:
            raise Full(f"{who} has as many streams as one may have")
        subscription = Subscription(who, wants)
        self._all.add(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """Let a subscriber go."""
        self._all.discard(subscription)

    def tell(self, event: EventView) -> None:
        """Leave an event for all who want it."""
        line: Line | None = None
        for subscription in tuple(self._all):
            if subscription.wants(event):
                line = line or event_line(event)
                self._leave(subscription, line)

    def cast(self, name: str, body: str) -> None:
        """Leave for all what is no event of the stream, and has no cursor."""
        line = Line(f"event: {name}\ndata: {body}\n\n".encode())
        for subscription in tuple(self._all):
            self._leave(subscription, line)

    def _leave(self, subscription: Subscription, line: Line) -> None:
        if not subscription.put(line):
            self.dropped += 1
            self._all.discard(subscription)

    def close(self) -> None:
        """Let everybody go."""
        for subscription in self._all:
            subscription.dropped.set()
        self._all.clear()


def event_line(event: EventView) -> Line:
    """Return an event as server-sent events have it: its cursor is what a subscriber names when he comes back."""
    return Line(f"id: {event.cursor}\nevent: {event.name}\ndata: {event.model_dump_json()}\n\n".encode())
