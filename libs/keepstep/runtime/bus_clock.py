"""The time of day that a service goes by: the bus's, since a fold's instants are those of the stream.

Deadlines of a service whose machine is an hour ahead would all have passed when they are set, and each recovery failed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from keepstep.adapters.clock import SystemClock
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Transient
from keepstep.runtime.tasks import end

ASK_S = 10.0
"""Between two questions; clocks of machines drift by less than a millisecond in that time."""
LATE = timedelta(seconds=2)
"""An answer that took longer, as where the connection came meanwhile, may be off by half of that: it tells nothing."""


class BusClock:
    """This machine's time of day where it agrees with the bus's, else the bus's; between two questions it only grows.

    They agree where the bus's time lies between the instants of question and answer. So on one machine it is the
    machine's own time to the microsecond, and across machines it is off by half a round trip at most.
    """

    def __init__(self, ask: Callable[[], Awaitable[datetime]], here: Clock | None = None) -> None:
        """``ask`` tells the bus's time, or raises Transient; until it has answered the machine's own time counts."""
        self._ask, self._here = ask, here or SystemClock()
        self._set(self._here.now())

    def now(self) -> datetime:
        """Return the current instant, aware, UTC."""
        return self._told + timedelta(seconds=self._here.monotonic() - self._at)

    def monotonic(self) -> float:
        """Return seconds that only grow, whatever is done to the wall clock."""
        return self._here.monotonic()

    def wall(self) -> datetime:
        """Return the machine's own time of day, aware, UTC."""
        return self._here.now()

    async def ask(self) -> None:
        """Ask the bus once; without an answer in time it goes on as it did."""
        asked, began = self._here.now(), self._here.monotonic()
        try:
            theirs = await self._ask()
        except Transient:
            return
        took = timedelta(seconds=self._here.monotonic() - began)
        if took > LATE:
            return
        agrees = asked <= theirs <= asked + took
        self._set((asked if agrees else theirs - took / 2) + took)

    def _set(self, now: datetime) -> None:
        self._told, self._at = now, self._here.monotonic()


@asynccontextmanager
async def bus_clock(ask: Callable[[], Awaitable[datetime]]) -> AsyncIterator[BusClock]:
    """Keep a clock for the block, asked for the first time at once."""
    clock = BusClock(ask)

    async def follow() -> None:
        while True:
            await clock.ask()
            await asyncio.sleep(ASK_S)

    following = asyncio.create_task(follow())
    try:
        yield clock
    finally:
        await end((following,))
