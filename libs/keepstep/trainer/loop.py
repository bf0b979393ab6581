"""One selector for everything the launcher waits on: sockets, ends of children (pidfd), signals, and time."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
from typing import Any, Callable, Dict, Iterable, List

from keepstep.trainer import system

Act = Callable[[], None]


class Loop:
    """Calls back when something can be read or written; ends of children only wake it."""

    def __init__(self, signals: Iterable[int]) -> None:
        """Catch these signals, and SIGCHLD, from now on."""
        self._selector = selectors.DefaultSelector()
        self._children: Dict[int, int] = {}
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *signals):
            signal.signal(number, _noted)
        self.watch(self._wake, self._drain)
        self.signals: List[int] = []
        """Those that came, SIGCHLD apart, in order."""

    def watch(self, file: Any, act: Act, *, writable: bool = False) -> None:
        """Call ``act`` whenever ``file`` can be read, or also written; replaces what was said of it before."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writable else 0)
        try:
            self._selector.modify(file, events, act)
        except KeyError:
            self._selector.register(file, events, act)

    def forget(self, file: Any) -> None:
        """Watch this file no longer; call it before closing the file."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(file)

    def watch_child(self, pid: int) -> None:
        """Wake up when this child ends; where the kernel has no pidfd, SIGCHLD alone does so.

        A child that is watched already, such as a spare that becomes a rank, is watched once: a second descriptor would
        outlive the child, and call the loop without end.
        """
        if pid in self._children:
            return
        descriptor = system.open_pidfd(pid)
        if descriptor is not None:
            self._children[pid] = descriptor
            self.watch(descriptor, _nothing)

    def forget_child(self, pid: int) -> None:
        """Close what was watched of a child that was reaped."""
        descriptor = self._children.pop(pid, None)
        if descriptor is not None:
            self.forget(descriptor)
            os.close(descriptor)

    def wait(self, timeout: float | None) -> None:
        """Wait for the next thing and call back; ``None`` waits without limit."""
        for key, _ in self._selector.select(timeout):
            if self._selector.get_map().get(key.fd) is key:
                key.data()

    def close(self) -> None:
        """Let go of every descriptor; signals that come from now on are lost until another loop catches them."""
        signal.set_wakeup_fd(-1)
        self._selector.close()
        for descriptor in (self._wake, self._waker, *self._children.values()):
            os.close(descriptor)

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            numbers = os.read(self._wake, 4096)
            self.signals += [number for number in numbers if number != signal.SIGCHLD]


def _noted(_number: int, _frame: Any) -> None:
    """Do nothing: the wake-up descriptor has the number."""


def _nothing() -> None:
    """Do nothing: the loop reaps after every wake."""
