"""How long to wait before trying again: doubling, bounded, and without chance, so that a replay waits as long."""

from datetime import timedelta

FIRST = timedelta(seconds=1)
LIMIT = timedelta(seconds=60)
_MOST_DOUBLINGS = 30


def backoff(tries: int, *, first: timedelta = FIRST, limit: timedelta = LIMIT) -> timedelta:
    """Return the pause before the next try after ``tries`` failed ones: first, 2 x first, 4 x first ... up to limit."""
    doublings = min(max(tries, 0), _MOST_DOUBLINGS)
    return min(first * (1 << doublings), limit)
