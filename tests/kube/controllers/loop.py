"""Drives controllers over the store: work queues as client-go has them, in virtual time or along a real clock.

A sync is a generator: what it read at its start is its informer's view, each ``yield`` is one request's round trip, and
a refused write ends it and queues it again. So races between two controllers happen here as they do on a cluster, yet
the same way every time.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NewType, Protocol

from ..server.errors import ApiError
from .cluster import Change, Cluster

Key = NewType("Key", str)
"""What a controller works on at a time, mostly namespace/name."""

Steps = Generator[None, None, timedelta | None]
"""A sync under way; it returns when to look again, or None."""

ROUND_TRIP = timedelta(milliseconds=8)
"""One request of a controller to the server: what the recorded traces show on a quiet machine (5 to 30 ms)."""

RETRY = timedelta(milliseconds=20)
"""After a conflict: client-go's first backoff and the informer's lag together."""


class Controller(Protocol):
    """One reconciler; ``pace`` stretches the round trip for clients with a tight rate limit."""

    pace: float

    def concerns(self, change: Change, /) -> Iterable[tuple[Key, timedelta]]:
        """Name the keys that a change makes worth a look, and how soon."""

    def sync(self, key: Key, /) -> Steps:
        """Bring one key closer to what it should be."""


@dataclass
class _Work:
    """One controller's key: queued for an instant, or under way, or both (dirty)."""

    due: datetime | None = None
    steps: Steps | None = None
    again: datetime | None = None


@dataclass
class Loop:
    """Runs the controllers; ``clock`` is moved by ``advance``, or follows the real one under ``run``."""

    cluster: Cluster
    controllers: Sequence[Controller]
    round_trip: timedelta = ROUND_TRIP
    _heap: list[tuple[datetime, int, int, Key]] = field(default_factory=list)
    _works: dict[tuple[int, Key], _Work] = field(default_factory=dict)
    _order: Callable[[], int] = field(default_factory=lambda: itertools.count().__next__)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.cluster.listen(self._changed)

    def start(self, *keys: tuple[Controller, Key]) -> None:
        """Queue keys that no change names: ticks."""
        for controller, key in keys:
            self._queue(self.controllers.index(controller), key, self.cluster.now())

    def advance(self, until: datetime, set_clock: Callable[[datetime], None]) -> None:
        """Do all that is due up to ``until``, moving the clock from instant to instant, and leave it there."""
        while (due := self._next_due()) is not None and due <= until:
            set_clock(max(due, self.cluster.now()))
            self._do_one()
        set_clock(until)

    def next_due(self) -> datetime | None:
        """Return the next instant at which something happens."""
        return self._next_due()

    async def run(self) -> None:
        """Do what is due, as it falls due, until cancelled."""
        while True:
            now = self.cluster.now()
            due = self._next_due()
            if due is not None and due <= now:
                self._do_one()
                await asyncio.sleep(0)
                continue
            self._wake.clear()
            pause = None if due is None else (due - now).total_seconds()
            try:
                async with asyncio.timeout(pause):  # wait_for of Python 3.11 may lose a cancellation
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _changed(self, change: Change) -> None:
        now = self.cluster.now()
        for number, controller in enumerate(self.controllers):
            for key, soon in controller.concerns(change):
                self._queue(number, key, now + soon)

    def _queue(self, number: int, key: Key, at: datetime) -> None:
        work = self._works.setdefault((number, key), _Work())
        if work.steps is not None:
            work.again = at if work.again is None else min(work.again, at)
        elif work.due is None or at < work.due:
            work.due = at
            self._push(number, key, at)

    def _push(self, number: int, key: Key, at: datetime) -> None:
        heapq.heappush(self._heap, (at, self._order(), number, key))
        self._wake.set()

    def _next_due(self) -> datetime | None:
        while self._heap:
            at, _, number, key = self._heap[0]
            work = self._works.get((number, key))
            if work is not None and work.due == at:
                return at
            heapq.heappop(self._heap)
        return None

    def _do_one(self) -> None:
        at, _, number, key = heapq.heappop(self._heap)
        work = self._works[number, key]
        if work.steps is None:
            work.steps = self.controllers[number].sync(key)
        try:
            next(work.steps)
        except StopIteration as end:
            self._finish(number, key, end.value)
        except ApiError:
            self._finish(number, key, RETRY)
        else:
            work.due = max(at, self.cluster.now()) + self.round_trip * self.controllers[number].pace
            self._push(number, key, work.due)

    def _finish(self, number: int, key: Key, after: timedelta | None) -> None:
        work = self._works.pop((number, key))
        now = self.cluster.now()
        if work.again is not None:
            self._queue(number, key, max(work.again, now))
        if after is not None:
            self._queue(number, key, now + after)
