"""What a process takes, as the kernel counts it from outside."""

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """CPU seconds so far, memory now and at its highest in MiB."""

    cpu_s: float
    rss_mib: float
    peak_mib: float


def usage(pid: int) -> Usage:
    """Return what a process has taken. Raises FileNotFoundError when it is gone."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    kept = dict(line.split(":", 1) for line in lines if ":" in line)
    return Usage((int(fields[11]) + int(fields[12])) / TICKS, _mib(kept["VmRSS"]), _mib(kept["VmHWM"]))


def _mib(field: str) -> float:
    return int(field.split(maxsplit=1)[0]) / 1024
