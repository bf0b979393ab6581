"""An event loop whose time is a number: where everybody waits, it jumps to the next moment somebody waits for."""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: passes the time to the loop instead."""

    loop: "TimelessLoop"

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise AssertionError("everybody waits for something that nobody will do")
        self.loop.passed += max(0.0, timeout)
        return []


class TimelessLoop(asyncio.SelectorEventLoop):
    """Runs a simulated minute in as long as its work takes, the same way every time."""

    def __init__(self) -> None:
        self.passed = 0.0
        selector = _Jumping()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Return simulated seconds since the loop was made."""
        return self.passed


class LoopClock:
    """Both kinds of time, of the running loop."""

    def now(self) -> datetime:
        """Return the simulated instant."""
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Return simulated seconds."""
        return asyncio.get_running_loop().time()


def simulate(story: Coroutine[Any, Any, T]) -> T:
    """Run the story to its end in simulated time."""
    with asyncio.Runner(loop_factory=TimelessLoop) as runner:
        return runner.run(story)
