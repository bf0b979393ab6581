"""How long the Job controller waits after failures, and in which order it makes pods."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..server.objects import Obj

_LONGEST = timedelta(minutes=10)

Order = Callable[[Obj, Sequence[int]], Sequence[int]]
"""Puts the indexes for which pods are to be made in order; the real controller makes them in parallel batches."""


def by_index(job: Obj, indexes: Sequence[int]) -> Sequence[int]:
    """Make them one after another."""
    return indexes


@dataclass
class Backoff:
    """Failures since the last success, in the controller's memory as in the real one."""

    first: timedelta
    failures: int = 0
    last: datetime | None = None

    def left(self, now: datetime) -> timedelta:
        """Return how long new pods still have to wait."""
        if self.last is None or not self.failures:
            return timedelta(0)
        wait: timedelta = min(self.first * 2 ** (self.failures - 1), _LONGEST)
        return max(self.last + wait - now, timedelta(0))
