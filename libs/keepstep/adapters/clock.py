"""The machine's own clocks."""

import time
from datetime import UTC, datetime


class SystemClock:
    """Wall clock in UTC and the monotonic count of this boot."""

    def now(self) -> datetime:
        """Return the current instant, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that only grow, whatever is done to the wall clock."""
        return time.monotonic()

    def wall(self) -> datetime:
        """Return the current instant as the machine has it: the same."""
        return self.now()
