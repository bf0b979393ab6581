"""How often somebody may guess: failures of one address within some minutes, in memory of a bounded size."""

from collections import OrderedDict, deque
from ipaddress import IPv6Address, ip_address

MOST = 10
"""Wrong attempts of an address; somebody with a wrong line in a script needs a few."""
WITHIN_S = 300.0
KEPT = 10_000
"""Addresses that are remembered; past it the one that failed longest ago is forgotten."""


class Attempts:
    """Attempts by address. One is counted when it begins, so that many at once are as many, and taken back if right."""

    def __init__(self, most: int = MOST, within_s: float = WITHIN_S, kept: int = KEPT) -> None:
        self._most, self._within_s, self._kept = most, within_s, kept
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def begin(self, address: str, now: float) -> float:
        """Count an attempt at a monotonic time; returns the seconds to wait first, 0 where it may be made."""
        who = origin(address)
        times = self._times.setdefault(who, deque())
        self._times.move_to_end(who)
        while times and now - times[0] >= self._within_s:
            times.popleft()
        if len(times) >= self._most:
            return self._within_s - (now - times[0])
        times.append(now)
        while len(self._times) > self._kept:
            self._times.popitem(last=False)
        return 0.0

    def right(self, address: str) -> None:
        """Take back the attempt that was begun last: it was no guess. Earlier ones stay."""
        who = origin(address)
        times = self._times.get(who)
        if times:
            times.pop()
        if not times:
            self._times.pop(who, None)

    def __len__(self) -> int:
        return len(self._times)


def origin(address: str) -> str:
    """Return whose attempts are counted together: an address, of IPv6 the /64 that one customer has."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return f"{IPv6Address(int(found) >> 64 << 64)}/64"
    return str(found)
