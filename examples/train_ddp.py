"""Data-parallel training on CPUs, as people write it: of keepstep it reads one variable, the checkpoint to resume from.

A small network learns a fixed function. The batch follows from the step and the rank, so a run that resumes from a
checkpoint makes bitwise the same losses as one that was never disturbed.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from faults import Faults, add_options
from torch.nn.parallel import DistributedDataParallel


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--step-seconds", type=float, default=0.0, help="pace: no step is shorter")
    parser.add_argument("--checkpoint-dir", type=Path)
    parser.add_argument("--save-every", type=int, default=10)
    parser.add_argument("--resume", help="checkpoint to start from; KEEPSTEP_RESUME_PATH says the same")
    parser.add_argument("--losses", type=Path, help="append step and loss, one JSON object a line")
    add_options(parser)
    return parser.parse_args()


def batch(step: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs of shape (16, 8) and targets of shape (16, 1) of one step and rank."""
    generator = torch.Generator().manual_seed(1_000_003 * step + rank)
    inputs = torch.randn(16, 8, generator=generator)
    return inputs, inputs.sin().sum(dim=1, keepdim=True)


def save(path: Path, step: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer, faults: Faults) -> None:
    """Write a checkpoint that is there under its name either whole or not at all."""
    draft = faults.draft(path)
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    with draft.open("wb") as file:
        torch.save(state, faults.slowed(file))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def load(path: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Take up a checkpoint and return its step."""
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])


def train(options: argparse.Namespace, rank: int) -> None:
    """Train from the checkpoint, or from the beginning, to the last step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    resume = options.resume or os.environ.get("KEEPSTEP_RESUME_PATH")
    done = load(resume, model, optimizer) if resume else 0
    # Keeps DDP from regrouping its buckets after the first step of a process: with them the order of the sums, and the
    # last digit of a loss, would depend on where a run was resumed.
    parallel = DistributedDataParallel(model, find_unused_parameters=True)
    faults = Faults(options, rank)
    for step in range(done + 1, options.steps + 1):
        began = time.monotonic()
        inputs, targets = batch(step, rank)
        faults.in_step(step)
        loss = torch.nn.functional.mse_loss(parallel(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(max(0.0, began + options.step_seconds - time.monotonic()))
        if rank == 0:
            record(options, step, loss.item())
            if options.checkpoint_dir and step % options.save_every == 0:
                save(options.checkpoint_dir / f"step-{step}.pt", step, model, optimizer, faults)
        faults.after_step(step, parallel)
    faults.at_end()


def record(options: argparse.Namespace, step: int, loss: float) -> None:
    """Print the loss, and append it with all its digits where that was asked for."""
    print(f"step {step} loss {loss:.6f}", flush=True)
    if options.losses:
        with options.losses.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, "loss": loss}) + "\n")


def main() -> None:
    """Set up the process group around the training."""
    options = parse()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if options.checkpoint_dir:
        options.checkpoint_dir.mkdir(parents=True, exist_ok=True)
    dist.init_process_group("gloo")
    train(options, dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
