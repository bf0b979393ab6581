"""How many queries one user may put in a second."""

from collections import OrderedDict, deque

WINDOW_S = 1.0
USERS_KEPT = 4096


class Limiter:
    """The times of the last queries of each user, in seconds of a monotonic clock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, who: str, now: float) -> float:
        """Count a query and return 0, or how long he has to wait, in which case it does not count."""
        times = self._times.setdefault(who, deque(maxlen=self._most))
        self._times.move_to_end(who)
        if len(self._times) > USERS_KEPT:
            self._times.popitem(last=False)
        if len(times) == self._most and now - times[0] < WINDOW_S:
            return WINDOW_S - (now - times[0])
        times.append(now)
        return 0.0
