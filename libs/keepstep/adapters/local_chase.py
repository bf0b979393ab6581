"""Ends what forks, leaves its session and ends again and again, faster than any scan of the process table."""

import contextlib
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

from keepstep.adapters.local_sight import Match, Sighting, look

CHASE_S = 0.02
"""How long at a time: what forks and ends ten thousand times a second is met in the first milliseconds."""


def chase(match: Match, kept: Collection[int]) -> bool:
    """Kill those of our children that match, as fast as they come; return whether none was there, which is a proof.

    What forks, leaves its session and ends, faster than any scan, is our child at that instant, and stays in the
    kernel's list until we reap it: where the list does not grow and all on it have ended, nothing is left. Each is
    stopped before it is looked at: whoever reads the environment of a process waits until its fork is through.
    """
    known = set(kept)
    fresh = _children() - known
    found, _ = _judged(fresh, match)
    until = time.monotonic() + CHASE_S  # from here on: hundreds may have ended before, and each was looked at
    while True:
        known |= fresh
        if not (fresh := _stopped(known, until)):
            return not found
        killed, others = _judged(fresh, match)
        for pid in others:
            _send(pid, signal.SIGCONT)
        found |= killed
        if time.monotonic() > until:
            return False


def _stopped(known: Collection[int], until: float) -> set[int]:
    """Stop our children except those that are known, and whatever comes meanwhile; return them."""
    stopped: set[int] = set()
    while fresh := _children().difference(known, stopped):
        for pid in fresh:
            _send(pid, signal.SIGSTOP)
        stopped |= fresh
        if time.monotonic() > until:
            break
    return stopped


def _judged(pids: Collection[int], match: Match) -> tuple[set[int], set[int]]:
    """Kill those of these children of ours that match; return them, and the others that live."""
    living = {pid: one for pid in pids if (one := _look_or_none(pid)) is not None}
    killed = {one.pid for one in match(tuple(living.values()))}
    for pid in killed:
        _send(pid, signal.SIGKILL)
    return killed, living.keys() - killed


def _send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a child of ours, whose number is nobody else's until we reap it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _look_or_none(pid: int) -> Sighting | None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return look(pid)
    return None


def _children() -> set[int]:
    """Return our children, the ended ones too; none where the kernel has no such list (CONFIG_PROC_CHILDREN)."""
    with contextlib.suppress(OSError):
        return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_bytes().split()))
    return set()
