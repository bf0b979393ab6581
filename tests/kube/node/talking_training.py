"""A training that only talks: every rank prints each of its steps, on either stream, until it is enough."""

import os
import sys
import time
from pathlib import Path

from keepstep import trainer

ENOUGH = Path("/data/enough")


def main() -> None:
    """Print ``generation G step N``; every tenth step goes to standard error alone."""
    generation, step = os.environ["KEEPSTEP_GENERATION"], 0
    while not ENOUGH.exists():
        time.sleep(0.02)  # what a step takes
        step += 1
        trainer.step(step)
        print(f"generation {generation} step {step}", file=sys.stdout if step % 10 else sys.stderr, flush=True)
    sys.stdout.write(f"generation {generation} last words")


if __name__ == "__main__":
    main()
