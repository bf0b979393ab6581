"""What all figures have in common: median and spread, a row of a Markdown table, and the machine they were taken on."""

import os
import platform
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

POLL_S = 0.002
"""How often a condition is looked at: far finer than any figure, and 0.2 % of a core."""


def machine() -> str:
    """Return one line on where and when: processor, cores, Python, torch, date."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    try:
        torch = f"torch {version('torch')}"
    except PackageNotFoundError:
        torch = "no torch"
    return (
        f"{next(names, platform.machine())}, {os.cpu_count()} cores, Python {platform.python_version()}, {torch},"
        f" {datetime.now(UTC):%Y-%m-%d}"
    )


def row(what: str, figures: Sequence[float], *, unit: str, goal: str = "", digits: int = 2) -> str:
    """Return a row of the table: what, median, spread, number of runs, goal."""
    if not figures:
        return f"| {what} | none | | 0 | {goal} |"
    median, low, high = (f"{value:.{digits}f}" for value in (statistics.median(figures), min(figures), max(figures)))
    return f"| {what} | {median} {unit} | {low} .. {high} | {len(figures)} | {goal} |"


def head(what: str = "") -> str:
    """Return the head of a table; ``what`` is what its rows have in common."""
    return f"| {what or 'what'} | median | min .. max | runs | goal |\n|---|---|---|---|---|"


def begin(doc: str | None, *, also: str = "") -> None:
    """Print what a benchmark measures, which is its docstring's first line, where it ran, and the head of its table."""
    title = (doc or "").partition("\n")[0].rstrip(".")
    print(f"\n## {title}\n\n{machine()}{also}\n\n{head()}")


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder for one job; SIGTERM to the benchmark becomes an exception, so that it ends its job as well."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="keepstep-bench-") as folder:
        yield Path(folder)


def until(condition: Callable[[], object], what: str, *, limit_s: float) -> None:
    """Wait until the condition holds; raises TimeoutError that says what did not come."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {limit_s:.0f} s")
        time.sleep(POLL_S)  # files and processes of others, which tell nobody
