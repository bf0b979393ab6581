"""The end of a command whose services do not end: everybody who asked it to stop has been waited for long enough."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LIMIT_S = 30.0
"""From when the nodes are down: services end within a second, and have 5 s before they are cancelled."""

Closing = Callable[[int], None]
"""Told once that nothing is left but to close, with the exit code that the command has by now."""


def unhurried(_code: int) -> None:
    """Wait for ever: whoever closes here has a limit of his own."""


@contextmanager
def last_resort(limit_s: float = LIMIT_S) -> Iterator[Closing]:
    """Yield what starts the limit, after which the process ends as it stands: services are made to be killed.

    A thread keeps it, since an event loop that does not end cannot. The bus dies with its parent; nodes are down.
    """
    timers: list[threading.Timer] = []

    def closing(code: int) -> None:
        timers.append(threading.Timer(limit_s, _end, (limit_s, code)))
        timers[-1].daemon = True
        timers[-1].start()

    try:
        yield closing
    finally:
        for timer in timers:
            timer.cancel()


def _end(limit_s: float, code: int) -> None:
    sys.stderr.write(f"keepstep: the services did not end within {limit_s:g} s and were left; what was said is kept\n")
    sys.stderr.flush()
    os._exit(code)
