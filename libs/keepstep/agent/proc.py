"""What Linux tells of a process without touching it: state letter, CPU time, caught signals (proc(5))."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessStat:
    """State letter and CPU seconds of all threads so far."""

    state: str
    cpu_s: float


def parse_stat(text: str) -> ProcessStat:
    """Read a line of /proc/<pid>/stat; the name in parentheses may itself hold spaces and parentheses."""
    fields = text.rpartition(")")[2].split()
    return ProcessStat(state=fields[0], cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND)


def parse_caught(text: str) -> int:
    """Return the mask of caught signals from /proc/<pid>/status, 0 if it is not told."""
    for line in text.splitlines():
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16)
    return 0


def read_stat(pid: int) -> ProcessStat | None:
    """Return the process now, or None when it is gone."""
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
    except (FileNotFoundError, ProcessLookupError):
        return None


def catches(pid: int, signal_number: int) -> bool:
    """Return whether the process has a handler for the signal: one without would die of it."""
    try:
        mask = parse_caught(Path(f"/proc/{pid}/status").read_text(errors="replace"))
    except (FileNotFoundError, ProcessLookupError):
        return False
    return bool(mask >> (signal_number - 1) & 1)
