"""Signals to a command that keeps something running."""

import asyncio
import signal

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

    def _arrived(self, number: int) -> None:
        self.number = self.number or number
        (self.second if self.first.is_set() else self.first).set()
