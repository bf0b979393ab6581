"""What repeated looks at a process add up to: how long in this state, how long without CPU time."""

from dataclasses import dataclass, replace
from datetime import timedelta

from keepstep.agent.proc import ProcessStat
from keepstep.agent.stalls import StateSince

IDLE_SHARE = 0.01
"""Watchdog threads of NCCL and gloo wake some times a second and burn well under 1 % of a core."""
TICK_S = 0.02
"""Two clock ticks: CPU time is counted in steps of 10 ms, one of which falls on a sleeping process by chance."""


@dataclass(frozen=True)
class Probe:
    """Looks at one process so far; instants are monotonic seconds."""

    pid: int
    state: str
    state_since: float
    cpu_s: float
    """CPU time at ``idle_since``."""
    idle_since: float
    seen: float

    def idle_s(self) -> float:
        """How long the process has used no CPU time to speak of."""
        return self.seen - self.idle_since

    def state_now(self) -> StateSince:
        """The state letter and how long it has been the same."""
        return StateSince(state=self.state, lasted=timedelta(seconds=self.seen - self.state_since))


def look(before: Probe | None, pid: int, stat: ProcessStat, now: float) -> Probe:
    """Return the probe after one more look; another pid starts anew."""
    if before is None or before.pid != pid:
        return Probe(pid=pid, state=stat.state, state_since=now, cpu_s=stat.cpu_s, idle_since=now, seen=now)
    state_since = before.state_since if stat.state == before.state else now
    after = replace(before, state=stat.state, state_since=state_since, seen=now)
    if stat.cpu_s - before.cpu_s > TICK_S + IDLE_SHARE * (now - before.idle_since):
        return replace(after, cpu_s=stat.cpu_s, idle_since=now)
    return after
