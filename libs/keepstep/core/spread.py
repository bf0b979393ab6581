"""How long things took: a histogram that only grows."""

from bisect import bisect_left
from itertools import accumulate

from keepstep.contracts.model import Frozen

BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""Seconds: from a warm restart to a job that is scheduled anew for an hour."""


class Spread(Frozen):
    """A histogram: how many took up to each bound, one more bucket for all beyond, and their sum in seconds."""

    counts: tuple[int, ...] = (0,) * (len(BUCKETS) + 1)
    total: float = 0.0

    def __add__(self, seconds: float) -> "Spread":
        """Return the spread with one more duration; one below zero, of two clocks, counts as none."""
        seconds = max(0.0, seconds)
        place = bisect_left(BUCKETS, seconds)
        counts = tuple(count + (number == place) for number, count in enumerate(self.counts))
        return Spread(counts=counts, total=self.total + seconds)

    @property
    def cumulative(self) -> tuple[int, ...]:
        """How many took at most each bound, the last of all."""
        return tuple(accumulate(self.counts))
