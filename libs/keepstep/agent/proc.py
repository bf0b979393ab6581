"""What Linux tells of a process without touching it: state letter and CPU time (proc(5))."""

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


def read_stat(pid: int) -> ProcessStat | None:
    """Return the process now, or None when it is gone."""
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
    except (FileNotFoundError, ProcessLookupError):
        return None
