"""Bounds what ranks print: of each rank's stdout and stderr the newest bytes are kept, whatever a job may say.

What is given back to the file system becomes a hole (fallocate(2)) and the file keeps its size: ranks write on without
a pause or a lost line, and every offset that a reader has stays true. The launcher does it, for it outlives the agent.
"""

from __future__ import annotations

import glob
import os
import re
import time
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from keepstep.trainer import system, wire

LOOK_EVERY_S = 1.0
"""What is printed in between is above the limit: a few hundred megabytes of a rank that does nothing else."""
LAST_BYTES = 64 * 1024
"""Kept of every generation: more than the last lines that an exit is told with (20 of 2 KiB)."""
STEP = 64 * 1024
"""Holes begin and end at multiples of this, which every file system's block divides."""
SLACK = 8
"""An eighth more than needed is given back at a time, so that it is seldom done."""

_GENERATION = re.compile(r"generation-(\d+)/rank-\d+\.\w+$")


class Log(NamedTuple):
    """One file, from the first byte that is kept to its end."""

    path: str
    start: int
    size: int


class Hole(NamedTuple):
    """What is given back of one file; ``end`` is where what is kept begins."""

    path: str
    start: int
    end: int


def holes(logs: Sequence[Log], limit: int) -> List[Hole]:
    """Return what is to be given back of one rank's stream, newest generation first, so that ``limit`` bytes are kept.

    The oldest goes first, but of no generation its last lines.
    """
    if sum(log.size - log.start for log in logs) <= limit:
        return []
    found, left = [], limit - limit // SLACK
    for log in logs:
        keep = min(log.size - log.start, max(left, LAST_BYTES))
        left -= keep
        end = (log.size - keep) // STEP * STEP
        if end > log.start:
            found.append(Hole(log.path, log.start, end))
    return found


def first_kept(descriptor: int, offset: int) -> int:
    """Return where the first byte is that is kept, from ``offset`` on; ``offset`` where the file system cannot tell."""
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError:
        return offset


class RankLogs:
    """The output files of a task's ranks, of all generations; ``bound`` is called every second while ranks run."""

    def __init__(self, directory: str, limit: int) -> None:
        self._directory, self._limit = directory, limit
        self._streams: List[List[str]] = []
        self._starts: Dict[str, int] = {}
        self._told: List[Optional[int]] = []
        self._next = 0.0

    def follow(self, ranks: Iterable[int]) -> None:
        """Bound what these ranks print from now on, together with what is there of them already."""
        names = ["rank-%d.%s" % (rank, stream) for rank in ranks for stream in ("out", "err")]
        folder = glob.escape(os.path.join(self._directory, wire.LOGS))
        found = [glob.glob(os.path.join(folder, "generation-*", name)) for name in names]
        self._streams = [sorted(paths, key=_generation, reverse=True) for paths in found]

    def turn(self) -> float:
        """Bound them if it is time; return in how many seconds to call again."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + LOOK_EVERY_S
            self.bound()
        return self._next - now

    def bound(self) -> None:
        """Give back what is too much; a file system that refuses is told of once, and ends nothing."""
        for paths in self._streams:
            logs = [Log(path, self._starts.get(path, 0), size) for path, size in _sizes(paths)]
            for hole in holes(logs, self._limit):
                try:
                    system.punch(hole.path, hole.start, hole.end)
                except OSError as error:
                    self._tell(error)
                    continue
                self._starts[hole.path] = hole.end

    def _tell(self, error: OSError) -> None:
        if error.errno not in self._told:
            self._told.append(error.errno)
            system.log(
                "what ranks print is not bounded, since nothing can be given back here: %s; "
                "have the run's folder on a file system such as ext4, xfs, btrfs, tmpfs or NFS 4.2" % error
            )


def _generation(path: str) -> int:
    match = _GENERATION.search(path)
    return -1 if match is None else int(match.group(1))


def _sizes(paths: Iterable[str]) -> List[Tuple[str, int]]:
    found = []
    for path in paths:
        try:
            found.append((path, os.stat(path).st_size))
        except OSError:  # whoever took the file away has given back all of it
            continue
    return found
