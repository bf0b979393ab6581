"""The measured job, under keepstep and under torchrun: the same script on four ranks, and when it completed a step."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Protocol

from tests.system.job import ROOT, JobTest

from benchmarks.measuring import until

SCRIPT = ROOT / "examples" / "train_ddp.py"
RANKS = 4
SAVE_EVERY_S = 0.5
"""Steps are saved about this often."""
COMPUTED_S = 0.003
"""What a step of the script takes without a pace, on one core of its own."""
START_LIMIT_S = 90.0
"""Four ranks import torch side by side; a refill of four spares took 16.5 s beside a training (README)."""


class Losses:
    """The file into which rank 0 writes every completed step, read as it grows."""

    def __init__(self, path: Path, save_every: int) -> None:
        self._path, self._save_every = path, save_every
        self._file: IO[str] | None = None
        self._cut = ""
        self.step = 0
        """The newest step."""
        self.restarts = 0
        """How often a step was done again."""
        self.restarted_at = 0.0
        """When that was seen last (seconds of the wall clock)."""

    def look(self) -> int:
        """Take in what has come and return the newest step."""
        if self._file is None:
            with contextlib.suppress(FileNotFoundError):
                self._file = self._path.open(encoding="utf-8")
        if self._file is None or not (text := self._file.read()):
            return self.step
        *lines, self._cut = (self._cut + text).split("\n")
        for line in lines:
            step = int(json.loads(line)["step"])
            if step <= self.step:
                self.restarts, self.restarted_at = self.restarts + 1, time.time()
            self.step = step
        return self.step

    def until_amid(self, *, beyond: int = 0) -> None:
        """Wait for a completed step above ``beyond`` that is far from those that are saved: it will be done again."""

        def amid() -> bool:
            since = self.look() % self._save_every / self._save_every
            return self.step > beyond and 0.25 < since < 0.75

        until(amid, f"a step above {beyond}", limit_s=START_LIMIT_S)

    def until_restarted(self, *, limit_s: float) -> float:
        """Wait until new ranks have completed a step and return when (seconds of the wall clock)."""
        before = self.restarts
        until(lambda: self.look() and self.restarts > before, "a step of the restarted ranks", limit_s=limit_s)
        return self.restarted_at


class Training(Protocol):
    """One running job whose ranks can be killed."""

    losses: Losses

    def pid(self, rank: int) -> int:
        """Return the process of a rank."""

    def end(self) -> None:
        """Stop the job and wait until nothing of it runs."""


def save_every(pace_s: float) -> int:
    """Return after how many steps a training of this pace saves."""
    return round(SAVE_EVERY_S / max(pace_s, COMPUTED_S))


def words(folder: Path, *, pace_s: float) -> list[str]:
    """Return the script and its options for a training in ``folder`` that never ends by itself."""
    options = {"--steps": 10**9, "--step-seconds": pace_s, "--save-every": save_every(pace_s)}
    files = {"--checkpoint-dir": folder / "checkpoints", "--losses": folder / "losses.jsonl"}
    return [str(SCRIPT), *(str(word) for pair in (options | files).items() for word in pair)]


class UnderKeepstep:
    """``keepstep run`` with two nodes of two ranks, as it is by default."""

    def __init__(self, folder: Path, *, pace_s: float) -> None:
        self.losses = Losses(folder / "losses.jsonl", save_every(pace_s))
        self.job = JobTest(folder, *words(folder, pace_s=pace_s))

    def pid(self, rank: int) -> int:
        """Return the process of a rank."""
        return self.job.slots()[rank].pid

    def end(self) -> None:
        """Stop the job and wait until nothing of it runs."""
        self.job.command.send_signal(signal.SIGTERM)
        self.job.finish()
        until(lambda: not self.job.pids(), "the end of all processes", limit_s=10)


class UnderTorchrun:
    """``torchrun --max-restarts`` with one agent for all ranks, which is its shortest way.

    Without TORCH_DISABLE_SHARE_RDZV_TCP_STORE torch 2.13 cannot restart a gloo job at all.
    """

    def __init__(self, folder: Path, *, pace_s: float) -> None:
        self.losses = Losses(folder / "losses.jsonl", save_every(pace_s))
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
        command += ["--max-restarts=1000", *words(folder, pace_s=pace_s)]
        environment = os.environ | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        with (folder / "output.txt").open("wb") as sink:
            self._agent = subprocess.Popen(command, cwd=folder, env=environment, stdout=sink, stderr=sink)

    def pid(self, rank: int) -> int:
        """Return the process of a rank."""
        for child in self._children():
            if f"RANK={rank}".encode() in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
                return int(child)
        raise LookupError(f"rank {rank} of torchrun is not there")

    def end(self) -> None:
        """Stop the job and wait until nothing of it runs."""
        ranks = [Path("/proc") / child for child in self._children()]
        self._agent.terminate()
        self._agent.wait(60)
        until(lambda: not any(rank.exists() for rank in ranks), "the end of all ranks", limit_s=10)

    def _children(self) -> list[str]:
        agent = self._agent.pid
        return Path(f"/proc/{agent}/task/{agent}/children").read_text(encoding="utf-8").split()
