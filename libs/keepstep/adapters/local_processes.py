"""Which processes belong to a task or a node, how they are ended, and the proof that none is left.

A process carries marks in its environment, which its children inherit whatever they do with sessions and groups. The
supervisor is a subreaper as well: what lost its parent becomes the supervisor's child, so that a process which wiped
its environment is found by that.
"""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from keepstep.adapters.local_chase import chase
from keepstep.adapters.local_sight import Match, Sighting, look, scan

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.005, 0.1
"""A killed process is usually gone within 5 ms; one in a slow system call is asked for ten times a second."""
CALM_SCANS = 2
"""One empty scan is no proof: a process inside execve shows no environment for an instant, and a parent may fork and
exit between the listing and the look."""

TORN_SCANS = 10
"""So many empty scans in which a process was gone before it could be looked at are no proof either: it may have forked
first. On a machine where processes come and go all the time they cost 0.1 s."""


def of_task(folder: Path, *, supervisor: int, kept: Callable[[], frozenset[int]]) -> Match:
    """Return a match for what carries the task's mark, and for unmarked orphans that came to the supervisor.

    The mark is the task's folder, since two clusters on one machine may run tasks of one uid. ``kept`` names the
    children that the supervisor started itself; they and their descendants are no orphans.
    """
    mark = str(folder)

    def match(seen: tuple[Sighting, ...]) -> Iterator[Sighting]:
        orphans = _orphans(seen, supervisor, kept())
        return (one for one in seen if one.task_dir == mark or (one.task_dir is None and one.pid in orphans))

    return match


def of_node(root: Path) -> Match:
    """Return a match for everything that was started on the node with this folder."""
    tasks = f"{root / 'tasks'}/"

    def match(seen: tuple[Sighting, ...]) -> Iterator[Sighting]:
        return (one for one in seen if one.node_dir == str(root) or (one.task_dir or "").startswith(tasks))

    return match


def _orphans(seen: tuple[Sighting, ...], supervisor: int, kept: frozenset[int]) -> frozenset[int]:
    found = {one.pid for one in seen if one.parent == supervisor and one.pid not in kept}
    fresh = set(found)
    while fresh:
        fresh = {one.pid for one in seen if one.parent in fresh} - found
        found |= fresh
    return frozenset(found)


def living(match: Match) -> bool:
    """Return whether a process of ``match`` can be seen; does nothing to it."""
    return any(True for _ in range(CALM_SCANS) for _ in match(scan().seen))


def sweep(match: Match, *, kept: Callable[[], Collection[int]] | None = None) -> Iterator[float]:
    """Kill what matches, again and again; yield the seconds to pause between, and end when none is left.

    The caller sleeps in its own way and may give up; then the proof is missing. One that adopts orphans names the
    children it started itself with ``kept``: the others are chased, and it must not reap but in its pauses.
    """
    pause, calm_scans, torn_scans = FIRST_PAUSE_S, 0, 0
    while True:
        look = scan()
        found = tuple(match(look.seen))
        for one in found:
            _kill(one)
        for leader in {one.group for one in found}:
            _kill_group(leader, known={one.pid for one in found})
        if found or (kept is not None and not chase(match, kept())):
            calm_scans = torn_scans = 0
        elif look.whole or torn_scans == TORN_SCANS:
            calm_scans += 1
        else:
            torn_scans += 1
        if calm_scans == CALM_SCANS:
            return
        yield pause if found else FIRST_PAUSE_S
        pause = min(pause * 2, LONGEST_PAUSE_S)


def _kill(one: Sighting) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        descriptor = os.pidfd_open(one.pid)
        try:
            if look(one.pid) == one:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        except FileNotFoundError:
            return
        finally:
            os.close(descriptor)


def _kill_group(leader: int, *, known: Collection[int]) -> None:
    """Kill a process group that what was found is in, which catches what forks and ends faster than anybody looks.

    Not our own, and none whose leader lives and was not found: the number may be another's by now.
    """
    if leader in (0, os.getpgrp()):
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        with contextlib.suppress(FileNotFoundError):
            if leader not in known and look(leader) is not None:
                return
        os.killpg(leader, signal.SIGKILL)


def die_with(parent: int, number: signal.Signals) -> Callable[[], None]:
    """Return what a child runs before exec, so that it gets ``number`` when its parent thread dies."""
    prctl = ctypes.CDLL(None).prctl

    def bind() -> None:
        prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os._exit(1)

    return bind


def adopt_orphans() -> None:
    """Make this process the parent of descendants that lose theirs."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
