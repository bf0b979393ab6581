"""Renews leases from a thread of its own, whatever the services of the process are busy with.

On the services' own loop a renewal waits for its turn behind everything that is ready, four times over. A burst on a
busy machine makes such a turn outlast a lease; the successor, mostly this same process, begins everything anew and is
busier still. The thread has a loop and a connection to the bus of its own. What it never does is keep a lease for a
loop that hangs: ``Pulse`` asks that loop for a sign of life.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TypeVar

from nats.aio.client import Client as NatsConnection
from nats.js import JetStreamContext

from keepstep.ports.clock import Clock
from keepstep.runtime.connection import Link, connect, hang_up

T = TypeVar("T")

ANSWER_S = 2.0
"""For an answer of the bus on this connection; a renewal is tried again after that."""
HANG_UP_S = 5.0
"""For the connection to close and the thread to end; it dies with the process anyway."""


class Pulse:
    """When a loop was last seen to turn, as told to another thread; seconds, monotonic."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop, self._clock = loop, clock
        self.at = clock.monotonic()

    def ask(self) -> float:
        """Ask for a sign of life and return when the last one came."""
        with suppress(RuntimeError):  # the loop is closed: no sign will come
            self._loop.call_soon_threadsafe(self._beat)
        return self.at

    def _beat(self) -> None:
        self.at = self._clock.monotonic()


class Keeper:
    """The thread, its loop and its connection; one for all services of a process."""

    def __init__(self, url: str, *, name: str) -> None:
        self._url, self._name = url, name
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="leases", daemon=True)
        self._opening = asyncio.Lock()
        self._opened: tuple[NatsConnection, Link] | None = None

    async def open(self) -> JetStreamContext:
        """Connect, however long that takes, unless that is done; what is returned belongs into ``call``."""
        async with self._opening:
            if not self._thread.is_alive():
                self._thread.start()
            if self._opened is None:
                self._opened = await self.call(lambda: connect(self._url, name=self._name))
        return self._opened[0].jetstream(timeout=ANSWER_S)

    @property
    def connected(self) -> bool:
        """Whether the bus can be reached from the thread now."""
        return self._opened is not None and self._opened[1].connected

    async def call(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        """Return what the work returns that is done on the thread; being cancelled cancels it there."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))

    async def close(self) -> None:
        """Hang up and end the thread."""
        if not self._thread.is_alive():
            self._loop.close()
            return
        if self._opened is not None:
            connection = self._opened[0]
            with suppress(TimeoutError):
                async with asyncio.timeout(HANG_UP_S):
                    await self.call(lambda: hang_up(connection))
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, HANG_UP_S)
        if not self._thread.is_alive():
            self._loop.close()
