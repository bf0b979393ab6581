"""The terminal during a run: a live line under scrolling text, or plain lines where nobody watches."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from keepstep.core.harmless import harmless, harmless_cell

PLAIN_EVERY_S = 10.0
"""A log file wants a sign of life now and then, not a line a second."""


class Out(Protocol):
    """What a plain screen prints to."""

    def write(self, text: str, /) -> int:
        """Write the text; raises OSError where nobody can read it any more."""

    def flush(self) -> None:
        """Hold nothing back."""

    def fileno(self) -> int:
        """Return the descriptor."""


class Unbuffered:
    """A file that is written through at once, so that a write that blocks holds no lock that the exit waits for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        """Write all of the text; raises OSError where nobody can read it any more."""
        left = text.encode(errors="replace")
        while left:
            left = left[os.write(self._descriptor, left) :]
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor


@contextmanager
def _heard_or_not(out: Out) -> Iterator[None]:
    """Print in the block; where nobody reads any more (``| head``, a terminal that is gone), print to nobody.

    What is run goes on: a training must not end with the pipe that its words went to.
    """
    try:
        yield
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), out.fileno())


class Screen(Protocol):
    """Where a run tells what happens."""

    def say(self, text: str) -> None:
        """Print a line that stays."""

    def status(self, text: str) -> None:
        """Show the state as it is now."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class PlainScreen:
    """Lines only; the state is told where it changed, at most every ten seconds."""

    def __init__(self, out: Out) -> None:
        self._out = out
        self._told: tuple[str, float] = ("", 0.0)

    def say(self, text: str) -> None:
        """Print the line."""
        with _heard_or_not(self._out):
            self._out.write(f"{text}\n")
            self._out.flush()

    def status(self, text: str) -> None:
        """Print the state if ten seconds went by."""
        last, at = self._told
        if text != last and time.monotonic() - at >= PLAIN_EVERY_S:
            self._told = (text, time.monotonic())
            self.say(text)

    def close(self) -> None:
        """Nothing to undo."""


class LiveScreen:
    """A rich status line that stays below what is said."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - 60 ms that `keepstep --help` does not need
        from rich.live import Live  # noqa: PLC0415 - only a terminal pays for it
        from rich.text import Text  # noqa: PLC0415 - only a terminal pays for it

        self._text = Text
        self._live = Live(Text(""), console=Console(), refresh_per_second=4, transient=True)
        self._live.start()

    def say(self, text: str) -> None:
        """Print above the status line."""
        with _heard_or_not(sys.stdout):
            self._live.console.print(self._text.from_ansi(harmless(text.replace("\r", "\n"))))

    def status(self, text: str) -> None:
        """Replace the status line."""
        with _heard_or_not(sys.stdout):
            self._live.update(self._text(harmless_cell(text), style="bold cyan"))

    def close(self) -> None:
        """Remove the status line."""
        with _heard_or_not(sys.stdout):
            self._live.stop()


def screen() -> Screen:
    """Return the live screen on a terminal, else the plain one."""
    if sys.stdout.isatty():
        return LiveScreen()
    try:
        return PlainScreen(Unbuffered(sys.stdout.fileno()))
    except OSError:  # io.UnsupportedOperation: output that is captured has no descriptor
        return PlainScreen(sys.stdout)
