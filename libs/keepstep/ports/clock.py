"""Time as an argument: instants for people and streams, a monotonic count for liveness."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Source of both kinds of time."""

    def now(self) -> datetime:
        """Return the current instant, aware, UTC."""

    def monotonic(self) -> float:
        """Return seconds that only grow, whatever is done to the wall clock."""


class LocalClock(Clock, Protocol):
    """A clock that also knows what its machine takes the time to be, right or wrong."""

    def wall(self) -> datetime:
        """Return the machine's own time of day, aware, UTC: what files and other processes bear."""
