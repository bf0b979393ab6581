"""What one step mark costs the training: ``python -m benchmarks.step_mark``; the goal is below 2 microseconds.

Both ways are measured in turn, several times: the script's own ``keepstep.trainer.step(n)``, and the optimizer hook's
count. An empty call of the same shape is measured beside them as the floor.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import measuring
from keepstep import trainer
from keepstep.trainer.mark import Marker
from keepstep.trainer.progress import Page
from keepstep.trainer.torch_hook import StepCounter

CALLS = 50_000
ROUNDS = 9
GOAL_US = 2.0


def main() -> int:
    """Print median and spread of each way in microseconds; return 1 if a median misses the goal."""
    with tempfile.TemporaryDirectory() as directory:
        page = Page.create(str(Path(directory) / "progress"), 2)
        page.begin(0, os.getpid(), 1, 0)
        os.environ.update(KEEPSTEP_TASK_DIR=directory, LOCAL_RANK="0", KEEPSTEP_GENERATION="1")
        counter, optimizer = StepCounter(Marker(page.begin(1, os.getpid(), 1, 0)), 0), Optimizer()
        ways: dict[str, Callable[[int], None]] = {
            "an empty call": lambda _number: None,
            "optimizer hook": lambda _number: counter.after_step(optimizer, (), {}),
            "trainer.step(n)": trainer.step,
        }
        figures: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, mark in ways.items():
                figures[name].append(microseconds(mark))
    measuring.begin(__doc__, also=f"; rounds of {CALLS} marks")
    for name, rounds in figures.items():
        print(measuring.row(f"step mark: {name}", rounds, unit="us", goal=f"{GOAL_US:.0f} us"))
    return int(any(statistics.median(rounds) >= GOAL_US for rounds in figures.values()))


class Optimizer:
    """Stands for an optimizer: the hook only needs its identity."""


def microseconds(mark: Callable[[int], None]) -> float:
    """Return the mean cost of a mark over one round."""
    began = time.perf_counter_ns()
    for number in range(CALLS):
        mark(number)
    return (time.perf_counter_ns() - began) / CALLS / 1000


if __name__ == "__main__":
    sys.exit(main())
