"""The terminal during a run: a live line under scrolling text, or plain lines where nobody watches."""

import sys
import time
from typing import Protocol, TextIO

PLAIN_EVERY_S = 10.0
"""A log file wants a sign of life now and then, not a line a second."""


class Screen(Protocol):
    """Where a run tells what happens."""

    def say(self, text: str) -> None:
        """Print a line that stays."""

    def status(self, text: str) -> None:
        """Show the state as it is now."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class PlainScreen:
    """Lines only; the state is told when it changed in words, at most every ten seconds when only in numbers."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._told: tuple[str, float] = ("", 0.0)

    def say(self, text: str) -> None:
        """Print the line."""
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
        from rich.live import Live  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        self._text = Text
        self._live = Live(Text(""), console=Console(), refresh_per_second=4, transient=True)
        self._live.start()

    def say(self, text: str) -> None:
        """Print above the status line."""
        self._live.console.print(self._text(text))

    def status(self, text: str) -> None:
        """Replace the status line."""
        self._live.update(self._text(text, style="bold cyan"))

    def close(self) -> None:
        """Remove the status line."""
        self._live.stop()


def screen() -> Screen:
    """Return the live screen on a terminal, else the plain one."""
    return LiveScreen() if sys.stdout.isatty() else PlainScreen(sys.stdout)
