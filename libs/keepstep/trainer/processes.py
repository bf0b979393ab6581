"""The seam to the kernel's process table: what lives below this launcher, who ended, and how to end the rest.

The launcher is a subreaper, so every descendant, however often it forks or calls setsid, stays below it in the tree;
walking parents from /proc therefore finds all of them that stay for as long as the walk. What forks and ends faster is
chased: whatever loses its parent is the launcher's own child at that instant, and the kernel lists those.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Collection, Iterable, NamedTuple

from keepstep.trainer import cgroup

CHASE_S = 0.02
"""How long at a time: a process that forks and ends ten thousand times a second is met in the first millisecond."""


class Entry(NamedTuple):
    """One living process below the launcher."""

    pid: int
    parent: int
    state: str
    """State letter of proc(5)."""
    group: int = 0
    """Its process group; 0 if that is not known."""

    @property
    def stopped(self) -> bool:
        """Whether it is stopped and so deaf to SIGTERM."""
        return self.state in "Tt"


class Ended(NamedTuple):
    """A child that was reaped; exactly one of code and signal is set."""

    pid: int
    code: int | None
    signal: int | None


def _stat(pid: str) -> Entry | None:
    try:
        with open("/proc/%s/stat" % pid, "rb") as file:
            text = file.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    state, parent, group, threads = fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[17])
    if state in "ZX" and threads <= 1:
        return None
    return Entry(int(pid), parent, state, group)


def _children() -> list[str]:
    """Return our own children, those that have ended and were not reaped included; empty where nobody lists them."""
    try:
        with open("/proc/self/task/%d/children" % os.getpid(), "rb") as file:
            return file.read().decode().split()
    except OSError:
        return []


class Processes:
    """The process table as the launcher uses it; tests replace single methods."""

    def reap(self) -> list[Ended]:
        """Collect every child that has ended; never waits."""
        ended: list[Ended] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            if os.WIFSIGNALED(status):
                ended.append(Ended(pid, None, os.WTERMSIG(status)))
            else:
                ended.append(Ended(pid, os.WEXITSTATUS(status), None))

    def below(self, spared: Collection[int] = ()) -> list[Entry]:
        """Return every living descendant except ``spared`` and what lives below those."""
        children: dict[int, list[Entry]] = {}
        for name in os.listdir("/proc"):
            entry = _stat(name) if name.isdigit() else None
            if entry is not None:
                children.setdefault(entry.parent, []).append(entry)
        found: list[Entry] = []
        parents = [os.getpid()]
        while parents:
            entries = [entry for entry in children.get(parents.pop(), ()) if entry.pid not in spared]
            found += entries
            parents += [entry.pid for entry in entries]
        return found

    def chase(self, spared: Collection[int] = ()) -> list[Entry]:
        """Kill what lives below apart from ``spared``, as fast as it comes; return what was not seen to end.

        None is left if it returns nothing: whatever lives has an ancestor among our own children, of which none leaves
        the list before we reap it, so that a list of ended ones that has not grown meanwhile is all there is. Where the
        kernel has no such list (CONFIG_PROC_CHILDREN) nothing is returned as well.
        """
        until = time.monotonic() + CHASE_S
        listed, before, ended = _children(), None, set()
        while True:
            found = {pid: _stat(pid) for pid in listed if pid not in ended and int(pid) not in spared}
            ended |= {pid for pid, entry in found.items() if entry is None}
            living = [entry for entry in found.values() if entry is not None]
            for entry in living:
                self.send(entry.pid, signal.SIGKILL)
            again = _children()
            if again == listed and (not living or living == before):
                return living  # these were killed before and are on their way, or nobody can kill them
            if time.monotonic() > until:
                return living or [Entry(int(pid), os.getpid(), "?") for pid in again[-1:]]
            listed, before = again, living

    def in_groups(self, folders: Iterable[str]) -> list[Entry]:
        """Return the living members of control groups."""
        entries = [_stat(pid) for folder in folders for pid in cgroup.members(folder)]
        return [entry for entry in entries if entry is not None]

    def send(self, pid: int, number: int) -> None:
        """Send a signal to one process; one that is gone already is no error."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def kill_group(self, folder: str) -> None:
        """Kill everything in a control group at once."""
        cgroup.kill(folder)

    def remove_groups(self, folders: Iterable[str]) -> None:
        """Remove control groups in which nothing lives any more."""
        cgroup.remove(folders)

    def send_group(self, pid: int, number: int) -> None:
        """Send a signal to the process group led by ``pid``; one that is gone already is no error.

        The launcher's own is spared: a child is in it for an instant, between fork and setsid.
        """
        with contextlib.suppress(ProcessLookupError):
            if pid not in (0, os.getpgrp()):
                os.killpg(pid, number)
