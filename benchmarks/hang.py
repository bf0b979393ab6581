"""From a frozen rank (SIGSTOP) to FaultDetected and to the next completed step, with the default policy.

Run ``python -m benchmarks.hang [--rounds 2] [--freezes 3]``. torchrun is no alternative here: it waits for the time-out
of the collective, 30 minutes by default.
"""

import argparse
import os
import signal
import time
from dataclasses import dataclass, field

from benchmarks import measuring
from benchmarks.recovery import DETECTED, LIMIT_S, PACE_S, STEPS_BETWEEN, VICTIMS
from benchmarks.stream import read_events, until_warm
from benchmarks.training import UnderKeepstep
from keepstep.contracts import events as e


@dataclass
class Figures:
    """Seconds since the SIGSTOP, of every run."""

    detected: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)


def main(rounds: int, freezes: int) -> None:
    """Print the table."""
    figures = Figures()
    for _ in range(rounds):
        with measuring.scratch() as folder:
            training = UnderKeepstep(folder, pace_s=PACE_S)
            try:
                for number in range(freezes):
                    freeze(training, number, figures)
            finally:
                training.end()
    measuring.begin(__doc__)
    print(measuring.row("SIGSTOP -> FaultDetected", figures.detected, unit="s", goal="5 s"))
    recovered = f"{len(figures.step)} of {rounds * freezes} recovered"
    print(measuring.row(f"SIGSTOP -> next completed step ({recovered})", figures.step, unit="s", goal="7 s"))


def freeze(training: UnderKeepstep, number: int, figures: Figures) -> None:
    """Freeze a rank when all spares are ready, and take down what came of it."""
    training.losses.until_amid(beyond=training.losses.step + STEPS_BETWEEN)
    until_warm(training.job, generation=number + 1, limit_s=LIMIT_S)
    pid = training.pid(VICTIMS[number % len(VICTIMS)])
    training.losses.until_amid()
    frozen = time.time()
    os.kill(pid, signal.SIGSTOP)
    figures.step.append(training.losses.until_restarted(limit_s=LIMIT_S) - frozen)
    training.job.until_said(e.JobResumed, count=number + 1)
    detected = DETECTED.at(event for event in read_events(training.job) if event.at > frozen)
    assert detected is not None, "a job that resumed had a fault"
    figures.detected.append(detected - frozen)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--freezes", type=int, default=3, help="per job; at most 3 an hour are forgiven")
    main(**vars(parser.parse_args()))
