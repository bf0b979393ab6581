"""The few Linux calls that Python 3.8 has no name for: parent-death signal, subreaper, pidfd, priorities."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import sys
import time
from ctypes import c_int64
from typing import Iterator

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PIDFD_OPEN = 434
"""The number of pidfd_open on every architecture (it came after the tables were unified, Linux 5.3)."""

_ARG_START = 48 - 3
"""Where /proc/PID/stat tells the address of the command line, counted from the field behind the name: proc(5)."""

BACKGROUND_NICE = 5
"""A quarter of a core against a busy rank; at 10 it is a tenth, and a spare took minutes on a crowded machine."""

AHEAD = 5
"""How much niceness the stack of one machine goes before the ranks. When one rank dies the others fail at once and take
all cores for 0.3 s; whoever decides about the restart waits among them otherwise."""
RANK_NICE = "KEEPSTEP_RANK_NICE"
"""What niceness the ranks have, for a launcher that goes before them."""

_FALLOC_FL_KEEP_SIZE, _FALLOC_FL_PUNCH_HOLE = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)
_fallocate = getattr(_libc, "fallocate64", None) or getattr(_libc, "fallocate", None)
"""The first takes 64-bit offsets everywhere; musl, which has only the second, has no others."""


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when ``parent`` ends; ends at once if that has happened already."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every orphaned descendant, so that none can leave the tree of this process."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def open_pidfd(pid: int) -> int | None:
    """Return a descriptor that becomes readable when ``pid`` ends; None where the kernel has no such thing."""
    opener = getattr(os, "pidfd_open", None)
    try:
        if opener is not None:
            return int(opener(pid))
    except OSError:
        return None
    descriptor = int(_libc.syscall(_PIDFD_OPEN, pid, 0))
    if descriptor < 0:
        return None
    os.set_inheritable(descriptor, False)
    return descriptor


def punch(path: str, start: int, end: int) -> None:
    """Give these bytes of a file back to its file system, whatever is written to it meanwhile; its size stays.

    Raises OSError where the file is gone, or the file system cannot.
    """
    if _fallocate is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        flags, begin, length = _FALLOC_FL_KEEP_SIZE | _FALLOC_FL_PUNCH_HOLE, c_int64(start), c_int64(end - start)
        if _fallocate(descriptor, flags, begin, length) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
    finally:
        os.close(descriptor)


def log(text: str) -> None:
    """Write a line to the launcher's log; a full disk must not end the ranks."""
    with contextlib.suppress(OSError):
        sys.stderr.write("%s launcher: %s\n" % (time.strftime("%Y-%m-%dT%H:%M:%S"), text))
        sys.stderr.flush()


@contextlib.contextmanager
def ahead() -> Iterator[None]:
    """Go before the ranks for the block, with all that is started in it, where the kernel lets us (root, RLIMIT_NICE).

    For the main thread, before it has made another: each thread has a niceness of its own.
    """
    nice, before = os.getpriority(os.PRIO_PROCESS, 0), os.environ.get(RANK_NICE)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, nice - AHEAD)
        os.environ[RANK_NICE] = str(nice)
    try:
        yield
    finally:
        os.environ.pop(RANK_NICE, None)
        if before is not None:
            os.environ[RANK_NICE] = before
        with contextlib.suppress(OSError):  # somebody has made this process nicer meanwhile, and may alone go back
            os.setpriority(os.PRIO_PROCESS, 0, nice)


def rank_nice() -> int:
    """Return the niceness of a rank: what ours was before we went ahead, else ours."""
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    said = os.environ.get(RANK_NICE, "")
    return max(ours, int(said)) if said.lstrip("-").isdigit() else ours


def restorable_priority() -> bool:
    """Say whether a process of ours may lower its priority and raise it again (root, or RLIMIT_NICE of 20)."""
    child = os.fork()
    if child == 0:
        try:
            before = os.getpriority(os.PRIO_PROCESS, 0)
            os.nice(BACKGROUND_NICE)
            os.setpriority(os.PRIO_PROCESS, 0, before)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def set_priority(pid: int, nice: int) -> None:
    """Give every thread of ``pid``, and its scheduling group where each session has one, this niceness."""
    try:
        threads = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return
    for thread in threads:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, int(thread), nice)
    with contextlib.suppress(OSError), open("/proc/%d/autogroup" % pid, "w") as file:
        file.write(str(nice))


def rename(old: str, new: str) -> None:
    """Put another word in the place of one on this process's command line, for those who list processes.

    It has no more room than the old one; where the kernel lets nobody write there the old one stays.
    """
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/stat", "rb") as file:
            numbers = file.read().rpartition(b")")[2].split()
        begin, end = int(numbers[_ARG_START]), int(numbers[_ARG_START + 1])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(begin)
            place = memory.read(end - begin).index(b"\0%s\0" % old.encode()) + 1
            memory.seek(begin + place)
            memory.write(new.encode().ljust(len(old))[: len(old)])
