"""Numbers of a node that a look reads, and from where on they are a condition; parsing and judging are pure."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

FULL_SHARE = 0.02
"""Of a filesystem's bytes or files left to those who are not root: a save of the next minutes fails."""
MEMORY_SHARE = 0.02
"""Of all memory available: the kernel is about to end somebody."""
STALLED_PERCENT = 20.0
"""Of the last minute in which all stood still for memory: a machine that pages instead of training."""
SKEW = timedelta(seconds=2)
"""From the bus's clock: times of logs and events cannot be compared any more."""
DISK_FULL, MEMORY_PRESSURE, CLOCK_SKEW = "DiskFull", "MemoryPressure", "ClockSkew"
CONDITIONS = (DISK_FULL, MEMORY_PRESSURE, CLOCK_SKEW)
_KIB = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
_FULL = re.compile(r"^full .*\bavg60=([\d.]+)", re.MULTILINE)


@dataclass(frozen=True)
class Look:
    """What a condition looks like now; ``about`` tells one filesystem from another."""

    condition: str
    wrong: bool
    text: str
    about: str = ""

    @property
    def key(self) -> str:
        """What of the node is looked at."""
        return f"{self.condition}/{self.about}"

    @property
    def name(self) -> str:
        """What is reported: each filesystem is a condition of its own."""
        return f"{self.condition} {self.about}".strip()


def disk(path: str, room: os.statvfs_result) -> Look:
    """Judge a filesystem by the room that is left in it."""
    share = room.f_bavail / room.f_blocks if room.f_blocks else 1.0
    files = room.f_favail / room.f_files if room.f_files else 1.0
    bytes_left = room.f_bavail * room.f_frsize
    text = f"{path}: {share:.1%} or {bytes_left / 2**20:.0f} MiB and {files:.1%} of the files are left"
    return Look(DISK_FULL, share < FULL_SHARE or files < FULL_SHARE, text, about=path)


def memory(meminfo: str, pressure: str) -> Look:
    """Judge memory by /proc/meminfo and /proc/pressure/memory; the latter may be "" where the kernel has none."""
    kib = {name: int(count) for name, count in _KIB.findall(meminfo)}
    total = kib.get("MemTotal", 0)
    share = kib.get("MemAvailable", total) / total if total else 1.0
    found = _FULL.search(pressure)
    stalled = float(found[1]) if found is not None else 0.0
    text = f"{share:.1%} of memory is available, and {stalled:.0f} % of the last minute all waited for it"
    return Look(MEMORY_PRESSURE, share < MEMORY_SHARE or stalled > STALLED_PERCENT, text)


def clock(theirs: datetime, asked: datetime, answered: datetime) -> Look:
    """Judge the clock by an instant of the bus that lies between two of ours."""
    skew, margin = theirs - (asked + (answered - asked) / 2), (answered - asked) / 2
    text = f"the bus's clock is {skew.total_seconds():+.1f} s from this node's"
    return Look(CLOCK_SKEW, abs(skew) - margin > SKEW, text)


def here(paths: Sequence[str]) -> tuple[Look, ...]:
    """Look at the memory and at the filesystems of these paths; one that cannot be looked at is left out."""
    looks = [memory(_text("/proc/meminfo"), _text("/proc/pressure/memory"))]
    for path in paths:
        try:
            looks.append(disk(path, os.statvfs(path)))
        except OSError:
            continue
    return tuple(looks)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
