"""A training without any framework: it says its steps to keepstep itself, and keeps its own checkpoints as JSON."""

import argparse
import json
import os
import time
from pathlib import Path

from keepstep import trainer


def main() -> None:
    """Count a number up, step by step, from the checkpoint or from the beginning."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--step-seconds", type=float, default=0.05)
    parser.add_argument("--checkpoint-dir", type=Path)
    parser.add_argument("--save-every", type=int, default=10)
    options = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    state = {"step": 0, "total": 0}
    resume = os.environ.get("KEEPSTEP_RESUME_PATH")
    if resume:
        with trainer.phase("load"):
            state = json.loads(Path(resume).read_text(encoding="utf-8"))
    for step in range(state["step"] + 1, options.steps + 1):
        time.sleep(options.step_seconds)
        state = {"step": step, "total": state["total"] + step * step}
        trainer.step(step)
        if rank == 0 and options.checkpoint_dir and step % options.save_every == 0:
            with trainer.phase("checkpoint"):
                save(options.checkpoint_dir / f"step-{step}.json", state)
    print(f"total {state['total']} after step {state['step']}", flush=True)


def save(path: Path, state: dict[str, int]) -> None:
    """Write a checkpoint that is there under its name either whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(json.dumps(state), encoding="utf-8")
    draft.replace(path)


if __name__ == "__main__":
    main()
