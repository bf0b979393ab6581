"""Signals to a command that keeps something running."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keepstep.cli.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruptions:
    """The first signal asks for a clean stop, the second for an end at once."""

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        self.number = 0

    def listen(self) -> None:
        """Take the signals over from Python until the loop ends."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._arrived, int(number))

    @asynccontextmanager
    async def may_end(self) -> AsyncIterator[None]:
        """Let the first signal end the block, whatever it waits for: raises Interrupted. A thread of it goes on."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        watching = asyncio.ensure_future(self.first.wait())
        watching.add_done_callback(lambda done: None if done.cancelled() else task.cancel())
        try:
            yield
        except asyncio.CancelledError:
            if not self.first.is_set() or task.uncancel() > 0:
                raise
            raise Interrupted(signal.Signals(self.number).name, self.number) from None
        finally:
            watching.cancel()

    def _arrived(self, number: int) -> None:
        self.number = self.number or number
        (self.second if self.first.is_set() else self.first).set()
