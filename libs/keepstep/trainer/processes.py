"""The seam to the kernel's process table: what lives below this launcher, who ended, and how to end the rest.

The launcher is a subreaper, so every descendant, however often it forks or calls setsid, stays below it in the tree;
walking parents from /proc therefore finds all of them.
"""

from __future__ import annotations

import contextlib
import os
from typing import Collection, Iterable, NamedTuple

from keepstep.trainer import cgroup


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
