"""What refilling the warm ranks costs the running job: step time while spares are made, and with all of them ready.

Run ``python -m benchmarks.refill [--rounds 3]``. The start of a job takes its spares, so each round sees one refill
of four. This is the worst case: the steps are pure computing and four ranks share the cores of this machine among
themselves, so that whatever a spare takes is taken from them.
"""

import argparse
import time
from dataclasses import dataclass, field

from benchmarks import measuring
from benchmarks.recovery import LIMIT_S
from benchmarks.stream import until_warm
from benchmarks.training import UnderKeepstep

REFILL_LIMIT_S = 300.0
"""Beside a training that takes all cores a refill is done at the lowest priority."""
QUIET_S = 5.0
"""How long the steps without a refill are counted."""


@dataclass
class Figures:
    """Of every refill: milliseconds per step during it and after it, and its seconds."""

    during_ms: list[float] = field(default_factory=list)
    quiet_ms: list[float] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)


def main(rounds: int) -> None:
    """Print the table."""
    figures = Figures()
    for _ in range(rounds):
        with measuring.scratch() as folder:
            training = UnderKeepstep(folder, pace_s=0.0)
            try:
                measure(training, figures)
            finally:
                training.end()
    measuring.begin(__doc__)
    print(measuring.row("step while the spares are refilled", figures.during_ms, unit="ms"))
    print(measuring.row("step with all spares ready", figures.quiet_ms, unit="ms"))
    pairs = zip(figures.took_s, figures.quiet_ms, figures.during_ms, strict=True)
    print(measuring.row("first step -> all spares ready", figures.took_s, unit="s"))
    print(measuring.row("training time that one refill takes", [took * (1 - q / d) for took, q, d in pairs], unit="s"))


def measure(training: UnderKeepstep, figures: Figures) -> None:
    """Count steps until all spares are ready, and for a while after that."""
    measuring.until(training.losses.look, "the first step", limit_s=LIMIT_S)
    first, began = training.losses.step, time.monotonic()
    until_warm(training.job, generation=1, limit_s=REFILL_LIMIT_S)
    second, ready = training.losses.look(), time.monotonic()
    time.sleep(QUIET_S)  # the training steps on meanwhile
    third, end = training.losses.look(), time.monotonic()
    figures.during_ms.append(1000 * (ready - began) / (second - first))
    figures.quiet_ms.append(1000 * (end - ready) / (third - second))
    figures.took_s.append(ready - began)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    main(**vars(parser.parse_args()))
