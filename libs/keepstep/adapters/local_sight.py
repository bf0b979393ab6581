"""What one look at the process table shows of each process: its parent, its group, and the marks it carries."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TASK_MARK = "KEEPSTEP_TASK_DIR"
NODE_MARK = "KEEPSTEP_NODE_DIR"


@dataclass(frozen=True)
class Sighting:
    """A living process as one scan saw it."""

    pid: int
    parent: int
    task_dir: str | None = None
    node_dir: str | None = None
    group: int = 0
    """Its process group; 0 if that is not known."""


Match = Callable[[tuple[Sighting, ...]], Iterator[Sighting]]


@dataclass(frozen=True)
class Scan:
    """What one look at all processes found; ``whole`` if none of them was gone before it could be looked at."""

    seen: tuple[Sighting, ...]
    whole: bool


def scan() -> Scan:
    """Look at the living processes except this one, the youngest first: those are gone soonest."""
    seen, whole = [], True
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc"))), reverse=True):  # noqa: PTH208 - a Path per process would double the cost of a scan
        if pid == os.getpid():
            continue
        try:
            one = look(pid)
        except (FileNotFoundError, ProcessLookupError):
            whole = False
            continue
        if one is not None:
            seen.append(one)
    return Scan(tuple(seen), whole)


def look(pid: int) -> Sighting | None:
    """Return the process, or None for one that has ended; FileNotFoundError or ProcessLookupError if there is none."""
    stat = Path(f"/proc/{pid}/stat").read_bytes()
    state, parent, group = stat[stat.rindex(b")") + 2 :].split(b" ", 3)[:3]
    if state in (b"Z", b"X"):
        return None
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except PermissionError:
        environment = b""
    marks = dict(entry.split(b"=", 1) for entry in environment.split(b"\0") if entry.startswith(b"KEEPSTEP_"))
    task_dir, node_dir = (
        os.fsdecode(marks[name.encode()]) if name.encode() in marks else None for name in (TASK_MARK, NODE_MARK)
    )
    return Sighting(pid, int(parent), task_dir, node_dir, int(group))
