"""How often a channel is called: within the vendor's limits in any window, and with messages to spare in a storm.

Half of a minute's calls go out one by one; from then on calls keep a distance, and what comes between them goes out
together. So a storm's first messages are there at once, the last ones some seconds later, and none is refused.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from keepstep.contracts.channel_parts import Limit

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
MARGIN = timedelta(seconds=0.1)
"""Between our clock and the vendor's, over which a call is on its way."""
NEVER = datetime.min.replace(tzinfo=UTC)
SPARE = 2
"""Calls of a minute that are left to others at the same robot, where it allows ten or more."""


def recent(calls: Sequence[datetime], now: datetime) -> tuple[datetime, ...]:
    """Return the calls that still count."""
    return tuple(call for call in calls if call > now - MINUTE - MARGIN)


def alone(calls: Sequence[datetime], limit: Limit, now: datetime) -> int:
    """Return how many messages may go out one by one now."""
    return max(0, _half(limit) - len(recent(calls, now)))


def next_call(calls: Sequence[datetime], limit: Limit, now: datetime) -> datetime:
    """Return when the channel may be called next, ``now`` at the earliest."""
    lately = recent(calls, now)
    at = max(now, _free(lately, _most(limit), MINUTE))
    if limit.per_second is not None:
        at = max(at, _free(lately, limit.per_second, SECOND))
    if lately and len(lately) >= _half(limit):
        at = max(at, lately[-1] + MINUTE / max(1, _most(limit) - _half(limit)))
    return at


def _free(calls: Sequence[datetime], most: int, window: timedelta) -> datetime:
    """Return when fewer than ``most`` calls lie in the window that ends then."""
    return calls[-most] + window + MARGIN if len(calls) >= most else NEVER


def _most(limit: Limit) -> int:
    return limit.per_minute - SPARE if limit.per_minute >= 5 * SPARE else limit.per_minute


def _half(limit: Limit) -> int:
    return max(1, limit.per_minute // 2)
