"""How fast the runtime tries again, renews and gives up; tests run at another pace."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Pace:
    """Seconds and counts; the defaults are for production."""

    first_retry_s: float = 0.2
    longest_retry_s: float = 10.0
    """Doubling from first to longest; a bug or an outage costs at most this much after it is over, unless whoever
    refused asked for more (``asked_s``)."""
    permanent_tries: int = 3
    """What is called permanent is tried this often: a person may be fixing a catalogue right now."""
    poison_tries: int = 9
    """A message on which a service stumbles holds up its key for 0.2 + 0.4 + ... + 10 = 32 s, then it is buried."""
    unfamiliar_tries: int = 6
    """An unknown word may be a newer writer's during an upgrade: 0.2 + 0.4 + ... = 6 s before it is buried."""
    lease_ttl_s: int = 3
    """Whole seconds (the bus counts in these); a standby takes over at most this long after a kill -9."""
    renew_s: float = 1.0
    """Three tries before the lease is lost."""
    stuck_s: float = 15.0
    """A loop that made no turn for so long hangs, and a standby does better; a burst on a busy machine takes less."""
    standby_look_s: float = 0.5
    mark_s: float = 5.0
    """How much of the stream is replayed at most when an active instance died."""
    ack_wait_s: float = 60.0
    """Time until the bus delivers again what was neither acknowledged nor refused: an answer was lost then, and not the
    connection. What waits its turn in a lane is no such thing; a flood that took longer doubled itself."""

    @property
    def unfamiliar_s(self) -> float:
        """How long an unknown word waits for a newer reader."""
        return sum(map(self.retry_s, range(1, self.unfamiliar_tries)))

    def retry_s(self, tries: int) -> float:
        """Return how long to wait after the given number of failed tries (1, 2, ...)."""
        return min(self.first_retry_s * 2.0 ** min(tries - 1, 30), self.longest_retry_s)

    def asked_s(self, asked: timedelta, tries: int) -> float:
        """Return how long to wait where whoever refused said when to come again: longer each time, never sooner."""
        first_s = asked.total_seconds()
        return max(first_s, min(first_s * 2.0 ** min(tries - 1, 6), self.longest_retry_s))
