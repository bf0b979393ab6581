"""Printing beside the work: a reader that stops reading holds up the words, never the stack that says them.

``keepstep run`` has bus, services and screen in one event loop. A pager, Ctrl-S or a full pipe would freeze them all.
"""

import threading
from collections import deque
from collections.abc import Callable
from functools import partial

from keepstep.cli.screen import Screen

MOST = 10_000
"""Lines that wait for a reader; what is said beyond is counted and left out, and stays in the run's folder."""
CLOSE_S = 2.0
"""How long the end waits for a reader."""


class Aside:
    """A screen that another one behind a thread stands for."""

    def __init__(self, screen: Screen, *, most: int = MOST) -> None:
        self._screen = screen
        self._most = most
        self._left_out = 0
        self._status: str | None = None
        self._waiting: deque[str] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._print, name="screen", daemon=True)
        self._thread.start()

    def say(self, text: str) -> None:
        """Have the line printed."""
        with self._changed:
            if len(self._waiting) < self._most:
                self._waiting.append(text)
            else:
                self._left_out += 1
            self._changed.notify()

    def status(self, text: str) -> None:
        """Have the state shown once the lines before it are printed; only the latest is."""
        with self._changed:
            self._status = text
            self._changed.notify()

    def close(self) -> None:
        """Leave the terminal as it was, within two seconds."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(CLOSE_S)

    def _print(self) -> None:
        while (act := self._next()) is not None:
            act()
        self._screen.close()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._status is not None or self._closing)
            if self._waiting:
                return partial(self._screen.say, self._waiting.popleft())
            if self._left_out:
                left_out, self._left_out = self._left_out, 0
                return partial(self._screen.say, f"({left_out} lines were left out here: nobody read them in time)")
            if self._status is not None:
                status, self._status = self._status, None
                return partial(self._screen.status, status)
            return None
