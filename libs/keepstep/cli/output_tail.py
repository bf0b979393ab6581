"""Follows one rank's standard output through its generations, for the terminal of a run."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from keepstep.trainer import wire

CHUNK = 256 * 1024
"""Read per look; a rank that prints more than this in a quarter second is shown late, not lost."""
LONGEST = 2000
_GENERATION = re.compile(r"generation-(\d+)$")


class OutputTail:
    """New whole lines of ``rank-<r>.out`` below the task folders, old generations first."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._offsets: dict[Path, int] = {}
        self._rests: dict[Path, bytes] = {}

    def lines(self, task_dirs: list[Path], *, last: bool = False) -> Iterator[str]:
        """Yield what was printed since the last look; with ``last`` also a line without its end."""
        for path in self._files(task_dirs):
            yield from self._new_lines(path, last=last)

    def _files(self, task_dirs: list[Path]) -> list[Path]:
        generations = [
            (int(match[1]), str(folder))
            for folder in task_dirs
            for path in (folder / wire.LOGS).glob("generation-*")
            if (match := _GENERATION.search(path.name))
        ]
        return [Path(wire.log_path(folder, number, self._rank, "out")) for number, folder in sorted(generations)]

    def _new_lines(self, path: Path, *, last: bool) -> Iterator[str]:
        offset = self._offsets.get(path, 0)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                new = file.read(-1 if last else CHUNK)
        except FileNotFoundError:
            return
        self._offsets[path] = offset + len(new)
        *whole, rest = (self._rests.get(path, b"") + new).split(b"\n")
        if last and rest:
            whole, rest = [*whole, rest], b""
        self._rests[path] = rest[-CHUNK:]
        for line in whole:
            yield line.rstrip(b"\r")[:LONGEST].decode(errors="replace")


def task_folders(cluster: Path, task_uids: set[str]) -> list[Path]:
    """Return the folders of these tasks below a local cluster, oldest first."""
    found = [path for path in (cluster / "nodes").glob("*/tasks/*") if path.name in task_uids]
    return sorted(found, key=os.path.getmtime)
