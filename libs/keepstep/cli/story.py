"""``events.jsonl`` of a run: what a full disk does not take waits in memory, and the run goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

MOST_WAITING = 16 * 1024 * 1024
"""Bytes that wait for room: a day of a busy job. What is said beyond is left out and stays in the bus's stream."""


class Story:
    """An open story; what was written is whole lines, whatever the disk takes of them at a time."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._waiting = bytearray()

    def add(self, line: str) -> None:
        """Write the line, and first what waits; it waits too as long as the disk is full."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting += line.encode() + b"\n"
        self.catch_up()

    def catch_up(self) -> None:
        """Write what waits, as far as there is room."""
        try:
            while self._waiting:
                del self._waiting[: self._file.write(self._waiting)]
        except OSError:
            return


@contextmanager
def told(path: Path) -> Iterator[Story]:
    """Keep the story at ``path`` open for the block, at whose end once more is tried what waits."""
    with FileIO(path, "a") as file:
        story = Story(file)
        try:
            yield story
        finally:
            story.catch_up()
