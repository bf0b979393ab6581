"""Follows one rank's standard output through its generations, for the terminal of a run."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from keepstep.cli.columns import shortened
from keepstep.trainer import wire

CHUNK = 256 * 1024
"""Read per look; a rank that prints more than this in a quarter second is shown late, not lost."""
MOST_BEHIND = 8 * 1024 * 1024
"""A rank that prints faster for long is followed at its end, and what was left out is told: the file has what is kept,
and reading gigabytes would hold up the services, which share this process, and take its memory."""
LONGEST = 2000
"""Columns of a line; the file has the whole of it."""
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
        try:
            with path.open("rb") as file:
                left_out = self._skip(path, size=file.seek(0, os.SEEK_END))
                file.seek(self._offsets.get(path, 0))
                new = file.read(MOST_BEHIND if last else CHUNK)
        except OSError:  # it is not there yet, or was taken away
            return
        self._offsets[path] = self._offsets.get(path, 0) + len(new)
        if left_out:
            yield f"({left_out} bytes were left out here; {path} has the newest)"
        *whole, rest = (self._rests.get(path, b"") + new).split(b"\n")
        if last and rest:
            whole, rest = [*whole, rest], b""
        self._rests[path] = rest[-CHUNK:]
        for line in whole:
            yield shortened(line.rstrip(b"\r").decode(errors="replace"), LONGEST)

    def _skip(self, path: Path, *, size: int) -> int:
        """Go on near the end of a file that has run away, and return how many bytes that leaves out."""
        offset = self._offsets.get(path, 0)
        if size - offset <= MOST_BEHIND:
            return 0
        self._offsets[path] = size - CHUNK
        self._rests[path] = b""
        return size - CHUNK - offset


def task_folders(cluster: Path, task_uids: set[str]) -> list[Path]:
    """Return the folders of these tasks below a local cluster, oldest first."""
    found = [path for path in (cluster / "nodes").glob("*/tasks/*") if path.name in task_uids]
    return sorted(found, key=os.path.getmtime)
