"""What a rank printed: one file per generation, place and stream, named and in the order of its life."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from keepstep.cli.options import write
from keepstep.trainer import wire
from keepstep.trainer.kept import first_kept

STREAMS: dict[str, str] = {"out": "stdout", "err": "stderr"}
"""The end of a file's name, and what people call the stream in it."""
_FILE = re.compile(r"/generation-(\d+)/rank-(\d+)\.(out|err)$")


@dataclass(frozen=True)
class RankLog:
    """One file of output."""

    rank: int
    generation: int
    stream: str
    path: Path

    @property
    def mark(self) -> str:
        """The line that stands above its content."""
        cut = f", its first {self.dropped} bytes no longer kept" if self.dropped else ""
        return f"==> rank {self.rank}, generation {self.generation}, {self.stream}: {self.path}{cut} <=="

    @property
    def dropped(self) -> int:
        """How many bytes from its beginning on are no longer kept: the policy's ``trainer.log_keep``."""
        with self.path.open("rb") as file:
            return first_kept(file.fileno(), 0)

    def lines(self) -> Iterator[str]:
        """Yield its lines, the last one too if it has no end yet; bytes that are no UTF-8 are replaced."""
        return (line.rstrip(b"\r\n").decode(errors="replace") for line in self.raw_lines())

    def raw_lines(self) -> Iterator[bytes]:
        """Yield its lines as they were written, with their ends."""
        with self.path.open("rb") as file:
            if start := first_kept(file.fileno(), 0):
                file.seek(start)
                file.readline()  # its beginning is gone
            yield from file

    def as_object(self) -> dict[str, object]:
        """Return it with stable keys, for ``--json``."""
        return {
            "rank": self.rank,
            "generation": self.generation,
            "stream": self.stream,
            "path": str(self.path),
            "dropped_bytes": self.dropped,
            "lines": list(self.lines()),
        }


def rank_logs(
    folders: Iterable[Path], *, rank: int | None, generation: int | None, streams: Iterable[str]
) -> tuple[RankLog, ...]:
    """Return the logs below these task folders, of one rank and generation or of all, in the order of generations."""
    wanted = tuple(streams)
    found = (log for folder in folders for path in (folder / wire.LOGS).glob("*/*") if (log := _read(path)) is not None)
    kept = (
        log
        for log in found
        if rank in (None, log.rank) and generation in (None, log.generation) and log.stream in wanted
    )
    return tuple(sorted(kept, key=lambda log: (log.generation, log.rank, tuple(STREAMS.values()).index(log.stream))))


def write_log(log: RankLog) -> None:
    """Print what is in it: a file or a pipe gets the bytes, a terminal lines without power over it.

    What a progress bar writes over and over on one line is a line each.
    """
    if sys.stdout.isatty():
        for line in log.lines():
            write(line.replace("\r", "\n"))
        return
    last = b"\n"
    for raw in log.raw_lines():
        sys.stdout.buffer.write(raw)
        last = raw
    sys.stdout.buffer.write(b"" if last.endswith(b"\n") else b"\n")
    sys.stdout.buffer.flush()


def _read(path: Path) -> RankLog | None:
    match = _FILE.search(str(path))
    return None if match is None else RankLog(int(match[2]), int(match[1]), STREAMS[match[3]], path)
