"""The ranks of one task: started together per generation, ended within a bound, their exits told exactly once.

Everything here is driven by the loop through ``start``, ``stop``, ``collect`` and ``tick``; nothing waits.
"""

from __future__ import annotations

import signal
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Set

from keepstep.trainer.processes import Ended, Entry, Processes
from keepstep.trainer.wire import Line, Say

EVERYTHING = 1 << 62
"""A generation above all others."""
LOOK_EVERY_S = 0.05
"""While stopping, the process table is read this often for processes that stopped or forked meanwhile."""
CALM_LOOKS = 2
"""One empty look is no proof: a parent may fork and end between the listing and the look at it."""


class Rank:
    """One started rank; it stays here until it was reaped."""

    def __init__(
        self, order: Line, generation: int, pid: int, *, warm: bool = False, group: str = "", leads_group: bool = False
    ) -> None:
        self.rank = int(order["rank"])
        self.local_rank = int(order["local_rank"])
        self.generation = generation
        self.pid = pid
        self.warm = warm
        self.group = group
        """Folder of its control group; empty without one."""
        self.leads_group = leads_group
        """SIGTERM goes to the whole group: a shell does not pass it on to the training it runs."""
        self.started = time.monotonic()
        self.ordered = False

    def line(self) -> Line:
        """Describe the rank as ``hello`` and ``started`` do."""
        return {
            "rank": self.rank,
            "local_rank": self.local_rank,
            "pid": self.pid,
            "generation": self.generation,
            "warm": self.warm,
        }


class Stop(NamedTuple):
    """A stop under way; instants are of the monotonic clock."""

    generation: int
    kill_at: float
    kill_s: float
    give_up_at: Optional[float] = None
    calm_looks: int = 0
    """How often in a row nothing was left to be seen."""


class Gang:
    """The ranks of this task and the one stop that may be under way."""

    def __init__(self, processes: Processes, say: Callable[[Line], None]) -> None:
        self._processes = processes
        self._say = say
        self._stop: Optional[Stop] = None
        self._last: List[Line] = []
        self._owners: Dict[int, int] = {}
        self._unkillable: Set[int] = set()
        self._groups: List[str] = []
        """Control groups of the generation that runs, also of its ranks that have ended."""
        self.alive: Dict[int, Rank] = {}
        """By pid."""
        self.generation = 0
        """The newest generation that was started."""
        self.stopped = 0
        """The newest generation that a finished stop has ended; nothing up to it starts any more."""

    @property
    def stopping(self) -> bool:
        """Whether a stop is under way."""
        return self._stop is not None

    @property
    def unkillable(self) -> Set[int]:
        """The processes that SIGKILL did not end."""
        return set(self._unkillable)

    def refusal(self, generation: int) -> Optional[str]:
        """Return why ranks of this generation may not start, or None."""
        if self._stop is not None:
            return "generation %d is still being stopped" % self._stop.generation
        if generation <= max(self.stopped, self.generation):
            return "generation %d is over; %d was the last" % (generation, max(self.stopped, self.generation))
        for rank in self.alive.values():
            return "rank %d of generation %d (pid %d) is still there" % (rank.rank, rank.generation, rank.pid)
        if self._unkillable:
            return "processes %s cannot be killed" % sorted(self._unkillable)
        return None

    def take(self, generation: int, ranks: List[Rank]) -> None:
        """Take charge of the ranks of a new generation; ``say_started`` tells of them."""
        self.generation = generation
        self.alive.update((rank.pid, rank) for rank in ranks)
        self._last = [rank.line() for rank in ranks]
        self._groups = [rank.group for rank in ranks if rank.group]

    def say_started(self) -> None:
        """Say, also again, what was started last."""
        self._say({"say": Say.STARTED, "generation": self.generation, "ranks": self._last})

    def collect(self, ended: Ended) -> bool:
        """Tell the exit of a rank that was reaped; False if the process was no rank."""
        rank = self.alive.pop(ended.pid, None)
        if rank is None:
            self._unkillable.discard(ended.pid)
            return False
        self._say(
            {
                "say": Say.EXIT,
                "id": "g%d-r%d" % (rank.generation, rank.rank),
                "generation": rank.generation,
                "rank": rank.rank,
                "local_rank": rank.local_rank,
                "pid": rank.pid,
                "code": ended.code,
                "signal": ended.signal,
                "ordered": rank.ordered,
                "at": time.time(),
                "ran_s": round(time.monotonic() - rank.started, 3),
            }
        )
        return True

    def stop(self, generation: int, grace_s: float, kill_s: float, spared: Set[int]) -> None:
        """End every rank of a generation up to this one; ``tick`` carries it through and says ``stopped``."""
        now = time.monotonic()
        if self._stop is not None:
            # A second order widens the stop and can only shorten the grace.
            generation = max(generation, self._stop.generation)
            self._stop = self._stop._replace(generation=generation, kill_at=min(self._stop.kill_at, now + grace_s))
        else:
            self._stop = Stop(generation, now + grace_s, kill_s)
        for entry in self._processes.below(spared):
            owner = self.alive[entry.pid].rank if entry.pid in self.alive else self._owners.get(entry.parent)
            if owner is not None:  # below() lists parents before their children
                self._owners[entry.pid] = owner
        for rank in self._concerned():
            if not rank.ordered:
                rank.ordered = True
                send = self._processes.send_group if rank.leads_group else self._processes.send
                send(rank.pid, signal.SIGTERM)
        self.tick(spared)

    def tick(self, spared: Set[int]) -> Optional[float]:
        """Carry the stop one step on; return how many seconds later to look again, None when none is under way."""
        if self._stop is None:
            return None
        now = time.monotonic()
        ranks = self._concerned()
        others = [rank for rank in self.alive.values() if rank.generation > self._stop.generation]
        living = [] if others else self._strays(spared)
        if not (ranks or living or others):
            living = self._processes.chase(spared)
        if not ranks and not living:
            self._stop = self._stop._replace(calm_looks=self._stop.calm_looks + 1)
            if self._stop.calm_looks < CALM_LOOKS:
                return 0.0
            self._finish(set())
        elif self._stop.give_up_at is not None and now >= self._stop.give_up_at:
            self._finish({rank.pid for rank in ranks} | {entry.pid for entry in living})
        else:
            self._stop = self._stop._replace(calm_looks=0)
            self._press(ranks, living, spared, now)
        return None if self._stop is None else LOOK_EVERY_S

    def _strays(self, spared: Set[int]) -> List[Entry]:
        """Return what the ranks have left behind, below the launcher or in their control groups."""
        found = {entry.pid: entry for entry in self._processes.in_groups(self._groups)}
        found.update((entry.pid, entry) for entry in self._processes.below(spared))
        return [entry for pid, entry in found.items() if pid not in self.alive]

    def _press(self, ranks: List[Rank], living: List[Entry], spared: Set[int], now: float) -> None:
        """Kill what may be killed now: all after the grace, orphans without a rank, and whatever is stopped."""
        stop = self._stop
        assert stop is not None  # noqa: S101 - only tick calls this
        if now >= stop.kill_at or not ranks:
            for pid in [rank.pid for rank in ranks] + [entry.pid for entry in living]:
                self._processes.send(pid, signal.SIGKILL)
            # Of a process that forks and ends a thousand times a second, a look finds only what is gone when it is
            # killed; its process group is killed as a whole.
            for leader in sorted({entry.group for entry in living}):
                self._processes.send_group(leader, signal.SIGKILL)
            for group in self._groups:
                self._processes.kill_group(group)
            if living:
                self._processes.chase(spared)
            if stop.give_up_at is None:
                self._stop = stop._replace(give_up_at=now + stop.kill_s)
            return
        concerned = {rank.pid for rank in ranks} | {entry.pid for entry in living}
        for entry in self._processes.below(spared):
            if entry.stopped and entry.pid in concerned:
                self._processes.send(entry.pid, signal.SIGKILL)

    def _finish(self, unkillable: Set[int]) -> None:
        stop = self._stop
        assert stop is not None  # noqa: S101 - only tick calls this
        self._stop = None
        self._unkillable = unkillable - set(self.alive)
        generation = self.generation if stop.generation == EVERYTHING else stop.generation
        self.stopped = max(self.stopped, generation)
        first = min((line["rank"] for line in self._last), default=0)
        # A process whose rank is unknown is told as the first rank's: it must not go untold.
        ranks = {self.alive[pid].rank if pid in self.alive else self._owners.get(pid, first) for pid in unkillable}
        self._owners = {}
        self._processes.remove_groups(self._groups)
        self._say({"say": Say.STOPPED, "generation": generation, "unkillable": sorted(ranks)})

    def _concerned(self) -> List[Rank]:
        assert self._stop is not None  # noqa: S101 - only during a stop
        return [rank for rank in self.alive.values() if rank.generation <= self._stop.generation]
