"""What refilling the warm ranks costs the running job: step time while spares are made, and with all of them ready.

Run ``python -m benchmarks.refill [--rounds 2] [--kills 2]``. This is the worst case: the steps are pure computing and
four ranks share the cores of this machine among themselves, so that whatever a spare takes is taken from them.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import measuring
from benchmarks.recovery import LIMIT_S, STEPS_BETWEEN, VICTIMS, strike
from benchmarks.stream import until_warm
from benchmarks.training import UnderKeepstep
from keepstep.contracts import events as e

QUIET_S = 5.0
"""How long the steps without a refill are counted."""


@dataclass
class Figures:
    """Of every refill: milliseconds per step during it and after it, and its seconds."""

    during_ms: list[float] = field(default_factory=list)
    quiet_ms: list[float] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)


def main(rounds: int, kills: int) -> None:
    """Print the table."""
    figures = Figures()
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="keepstep-bench-") as folder:
            training = UnderKeepstep(Path(folder), pace_s=0.0)
            try:
                training.losses.until_amid(beyond=STEPS_BETWEEN)
                until_warm(training.job, generation=1, limit_s=2 * LIMIT_S)
                for number in range(kills):
                    refill(training, number, figures)
            finally:
                training.end()
    print(f"{measuring.machine()}\n\n{measuring.head()}")
    print(measuring.row("step while the spares are refilled", figures.during_ms, unit="ms"))
    print(measuring.row("step with all spares ready", figures.quiet_ms, unit="ms"))
    lost = [
        took * (1 - quiet / during)
        for took, quiet, during in zip(figures.took_s, figures.quiet_ms, figures.during_ms, strict=True)
    ]
    print(measuring.row("first step -> all spares ready", figures.took_s, unit="s"))
    print(measuring.row("training time that one refill takes", lost, unit="s"))


def refill(training: UnderKeepstep, number: int, figures: Figures) -> None:
    """Kill a rank and count steps until all spares are ready again, and for a while after that."""
    strike(training, VICTIMS[number % len(VICTIMS)])
    training.losses.until_restarted(limit_s=LIMIT_S)
    training.job.until_said(e.JobResumed, count=number + 1)
    first, began = training.losses.look(), time.monotonic()
    until_warm(training.job, generation=number + 2, limit_s=2 * LIMIT_S)
    second, ready = training.losses.look(), time.monotonic()
    time.sleep(QUIET_S)
    third, end = training.losses.look(), time.monotonic()
    figures.during_ms.append(1000 * (ready - began) / (second - first))
    figures.quiet_ms.append(1000 * (end - ready) / (third - second))
    figures.took_s.append(ready - began)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--kills", type=int, default=2, help="per job; at most 3 an hour are forgiven")
    main(**vars(parser.parse_args()))
