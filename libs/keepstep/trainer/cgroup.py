"""A control group per rank, where the kernel lets us (cgroup v2, writable): ends a rank and all it forked at once.

Membership survives setsid and double forks, and ``cgroup.kill`` cannot be outrun by a process that keeps forking.
Where there is none, the launcher finds the same processes by walking its tree again and again.
"""

from __future__ import annotations

import contextlib
import os
from typing import Iterable, List, Optional

SWITCHED_OFF = "KEEPSTEP_NO_CGROUP"
"""Set in the environment of a launcher that shall make no groups."""

_NAME = "keepstep-%d"
_PROCS, _KILL = "cgroup.procs", "cgroup.kill"


class Groups:
    """The groups that this launcher makes, below the group it lives in itself."""

    def __init__(self, base: Optional[str]) -> None:
        """Make groups in ``base``; with None none is made and the names are empty."""
        self._base = base
        self._count = 0

    def make(self) -> str:
        """Make a group and return its folder; empty where there are none."""
        if self._base is None:
            return ""
        self._count += 1
        folder = os.path.join(self._base, str(self._count))
        os.mkdir(folder)
        return folder

    def close(self) -> None:
        """Remove what is empty by now."""
        if self._base is not None:
            remove(folder.path for folder in os.scandir(self._base) if folder.is_dir())
            remove([self._base])


def open_groups() -> Groups:
    """Return the groups of this launcher; tidies up what launchers that were killed left behind."""
    own = None if os.environ.get(SWITCHED_OFF) else _own_group()
    if own is None:
        return Groups(None)
    base = os.path.join(own, _NAME % os.getpid())
    try:
        os.makedirs(base, exist_ok=True)
        for name in os.listdir(own):
            owner = name[len(_NAME % 0) - 1 :] if name.startswith(_NAME[:-2]) else ""
            if owner.isdigit() and not os.path.exists("/proc/" + owner):
                Groups(os.path.join(own, name)).close()
    except OSError:
        return Groups(None)
    if not os.path.exists(os.path.join(base, _KILL)):
        remove([base])
        return Groups(None)
    return Groups(base)


def enter(folder: str) -> None:
    """Move the calling process into a group; stays where it is if that is not allowed or ``folder`` is empty."""
    if folder:
        with contextlib.suppress(OSError), open(os.path.join(folder, _PROCS), "w") as file:
            file.write("0")


def members(folder: str) -> List[str]:
    """Return the pids in a group; none if it is gone."""
    with contextlib.suppress(OSError), open(os.path.join(folder, _PROCS)) as file:
        return file.read().split()
    return []


def kill(folder: str) -> None:
    """Send SIGKILL to everything in the group at once."""
    with contextlib.suppress(OSError), open(os.path.join(folder, _KILL), "w") as file:
        file.write("1")


def remove(folders: Iterable[str]) -> None:
    """Remove groups; one that still has a dying process stays, and is removed by a later launcher."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _own_group() -> Optional[str]:
    """Return the folder of the cgroup v2 group that this process is in."""
    mount = path = None
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            fields, _, kind = line.partition(" - ")
            if kind.startswith("cgroup2 "):
                mount = fields.split()[4]
    with contextlib.suppress(OSError), open("/proc/self/cgroup") as groups:
        for line in groups:
            if line.startswith("0::"):
                path = line[3:].strip()
    if mount is None or path is None:
        return None
    return os.path.normpath(mount + path)
