"""Shows in the container's own output what its ranks print, line by line with the rank before it: ``kubectl logs``.

A process of its own beside the launcher, which tells it by its standard input which ranks there are. It reads the files
that ranks write, so that neither rank nor launcher ever waits for whoever reads the container's output; where that one
falls behind, what is left out is said, and the files have what is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import List, NamedTuple, Optional

from keepstep.trainer import wire

LOOK_EVERY_S = 0.2
"""Between looks at files that had nothing new: people do not see the delay."""
BLOCK = 64 * 1024
"""Read of one file at one look: 16 files at full speed are 5 MiB a second."""
BEHIND = 1024 * 1024
"""A file that is this far ahead of what was shown is joined near its end."""
LINE = 8 * 1024
PROGRESS_EVERY_S = 10.0
"""How often a progress bar, which ends its line with a carriage return, is shown."""
LAST_WORDS_S = 2
"""From the end of the launcher's ranks until whoever reads our output is waited for no more."""


class Cut(NamedTuple):
    """What reading came to: whole lines to be shown, what is left of an unfinished one, and the bar at its end."""

    lines: List[bytes]
    rest: bytes
    bar: Optional[bytes]


def cut(text: bytes) -> Cut:
    """Cut text into lines; of what carriage returns overwrote only the last is left, long lines lose their ends."""
    *whole, rest = text.split(b"\n")
    # A carriage return at the end may be half of a line's end.
    bars, mark, _ = rest.rstrip(b"\r").rpartition(b"\r")
    shown = [bar for bar in bars.split(b"\r") if bar.strip()]
    rest = rest[len(bars) + len(mark) :]
    return Cut([_shown(line) for line in whole], rest[: LINE + 1], _shown(shown[-1]) if shown else None)


def _shown(line: bytes) -> bytes:
    line = line.rstrip(b"\r").rpartition(b"\r")[2]
    return line if len(line) <= LINE else line[:LINE] + b" ..."


class Followed:
    """One file of a rank."""

    def __init__(self, path: str, rank: int, generation: int, to: int) -> None:
        self.generation = generation
        self._path, self._to = path, to
        self._prefix = b"[rank%d]: " % rank
        self._offset = 0
        self._rest = b""
        self._bar_at = 0.0

    def look(self, now: float) -> bool:
        """Show what is new; return whether there may be more at once."""
        try:
            with open(self._path, "rb") as file:
                self._catch_up(os.fstat(file.fileno()).st_size)
                file.seek(self._offset)
                block = file.read(BLOCK)
        except OSError:
            return False
        if not block:
            return False
        self._offset += len(block)
        done = cut(self._rest + block)
        self._rest = done.rest
        lines = done.lines
        if done.bar is not None and now - self._bar_at >= PROGRESS_EVERY_S:
            self._bar_at = now
            lines = [*lines, done.bar]
        self._show(lines)
        return len(block) == BLOCK

    def end(self) -> None:
        """Show the last line, which nobody ended."""
        self._show([_shown(self._rest)] if self._rest.strip() else [])
        self._rest = b""

    def _catch_up(self, size: int) -> None:
        left_out = size - BLOCK - self._offset
        if size - self._offset > BEHIND:
            self._show([b"... %d bytes are left out here; %s has the newest ..." % (left_out, self._path.encode())])
            self._offset, self._rest = size - BLOCK, b""

    def _show(self, lines: List[bytes]) -> None:
        text = b"".join(self._prefix + line + b"\n" for line in lines)
        while text:
            text = text[os.write(self._to, text) :]


class Screen:
    """All files that are shown now."""

    def __init__(self, directory: str, out: int = 1, err: int = 2) -> None:
        self._directory, self._to = directory, (("out", out), ("err", err))
        self._files: List[Followed] = []

    def follow(self, generation: int, ranks: List[int]) -> None:
        """Show these ranks from now on, too."""
        for rank in ranks:
            for stream, to in self._to:
                path = wire.log_path(self._directory, generation, rank, stream)
                self._files.append(Followed(path, rank, generation, to))

    def look(self) -> bool:
        """Show what is new; return whether there may be more at once.

        Of an older generation all is shown first: its ranks had ended before those of the next began.
        """
        now = time.monotonic()
        newest = max((file.generation for file in self._files), default=0)
        for file in self._files:
            if file.generation < newest:
                while file.look(now):
                    pass
                file.end()
        self._files = [file for file in self._files if file.generation == newest]
        more = False
        for file in self._files:
            more = file.look(now) or more
        return more

    def end(self) -> None:
        """Show all that is left."""
        while self.look():
            pass
        for file in self._files:
            file.end()


def main(directory: str) -> None:
    """Show until standard input ends, or nobody reads what is shown."""
    with contextlib.suppress(BrokenPipeError):
        _show(directory)


def _show(directory: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.set_blocking(0, False)
    screen, heard, more = Screen(directory), b"", False
    while True:
        if select.select([0], [], [], 0 if more else LOOK_EVERY_S)[0]:
            told = os.read(0, BLOCK)
            *lines, heard = (heard + told).split(b"\n")
            for line in lines:
                screen.follow(*json.loads(line))
            if not told:
                break
        more = screen.look()
    signal.alarm(LAST_WORDS_S)
    screen.end()
