"""Faults that the example training commits on itself when asked to, so that tests have something to recover from."""

import argparse
import os
import threading
import time
from pathlib import Path
from typing import BinaryIO

import torch


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the fault options; without any of them nothing happens."""
    group = parser.add_argument_group("faults")
    group.add_argument("--raise-at", type=int, help="raise a ValueError in this step")
    group.add_argument("--raise-rank", type=int, default=1)
    group.add_argument("--raise-once", type=Path, help="only if this file is not there yet; it is made then")
    group.add_argument("--lock-at", type=int, help="wait on a lock for ever in this step")
    group.add_argument("--lock-rank", type=int, default=1)
    group.add_argument("--lock-once", type=Path)
    group.add_argument("--spin-at", type=int, help="loop for ever in this step, printing")
    group.add_argument("--spin-rank", type=int, default=1)
    group.add_argument("--spin-once", type=Path)
    group.add_argument("--nan-at", type=int, help="print 'Loss nan' in this step")
    group.add_argument("--nan-once", type=Path)
    group.add_argument("--slow-first", type=float, default=0.0, help="seconds that the first step takes longer")
    group.add_argument("--eval-at", type=int, help="rank 0 alone evaluates after this step")
    group.add_argument("--eval-seconds", type=float, default=1.0)
    group.add_argument("--slow-save", type=float, default=0.0, help="seconds that a save takes longer, half-written")
    group.add_argument("--save-in-place", action="store_true", help="write checkpoints under their final name")
    group.add_argument("--finish-skew", type=float, default=0.0, help="seconds per rank between the ends of ranks")


class Faults:
    """The faults of one rank."""

    def __init__(self, options: argparse.Namespace, rank: int) -> None:
        self._options = options
        self._rank = rank
        self._first = True

    def in_step(self, step: int) -> None:
        """Commit what is due in this step, before its gradients are exchanged."""
        options = self._options
        if self._first:
            self._first = False
            time.sleep(options.slow_first)
        if self._due(step, options.raise_at, options.raise_rank, options.raise_once):
            raise ValueError(f"bad sample in step {step}")
        if self._due(step, options.lock_at, options.lock_rank, options.lock_once):
            wait_for_ever()
        if self._due(step, options.spin_at, options.spin_rank, options.spin_once):
            while True:
                print("still loading the batch", flush=True)
                time.sleep(0.1)
        if self._due(step, options.nan_at, 0, options.nan_once):
            print("Loss nan", flush=True)

    def after_step(self, step: int, model: torch.nn.Module) -> None:
        """Evaluate on rank 0 alone, if this is the step."""
        if step == self._options.eval_at and self._rank == 0:
            model.eval()
            time.sleep(self._options.eval_seconds)
            model.train()

    def draft(self, path: Path) -> Path:
        """Return the name under which a checkpoint is written; a careless framework writes under the final one."""
        return path if self._options.save_in_place else path.with_name(path.name + ".tmp")

    def slowed(self, file: BinaryIO) -> "SlowFile":
        """Return the file on storage that takes its time."""
        return SlowFile(file, self._options.slow_save)

    def at_end(self) -> None:
        """End later than the rank before."""
        time.sleep(self._options.finish_skew * self._rank)

    def _due(self, step: int, at: int | None, rank: int, once: Path | None) -> bool:
        if step != at or rank != self._rank:
            return False
        if once is None:
            return True
        try:
            os.close(os.open(once, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True


class SlowFile:
    """A file that stalls once in the middle of a save, with what was written so far on disk."""

    HALF = 12
    """Writes before the stall; torch.save makes some fifty for a model this small."""

    def __init__(self, file: BinaryIO, seconds: float) -> None:
        self._file = file
        self._seconds = seconds
        self._writes = 0

    def write(self, block: bytes) -> int:
        """Write, after the stall if it is time for it."""
        self._writes += 1
        if self._seconds and self._writes == self.HALF:
            self._file.flush()
            time.sleep(self._seconds)
        return self._file.write(block)

    def flush(self) -> None:
        """Hand everything to the system."""
        self._file.flush()


def wait_for_ever() -> None:
    """Take a lock twice, while another thread goes on printing as if all were well."""
    threading.Thread(target=chatter, daemon=True).start()
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def chatter() -> None:
    """Print without end."""
    while True:
        print("still prefetching", flush=True)
        time.sleep(0.1)
