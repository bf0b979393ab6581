"""``make demo``: a real DDP training loses a rank, freezes one and loses a node, and still makes the same losses.

Exits 0 only if the job finished, every fault became one incident that was resumed, and the loss of every step,
recomputed ones included, equals that of an undisturbed run of plain torchrun.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from keepstep.cli.history import read_line
from keepstep.cli.main import run
from keepstep.cli.places import runs_folder
from keepstep.cli.view import JobView
from keepstep.cli.watch import Summary
from keepstep.contracts.events import IncidentClosed
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Outcome

STEPS = 240
STEP_S = 0.1
"""Twenty-four seconds of stepping in all: room for three faults, each with steps before and after it."""
BETWEEN = 40
"""Steps from a resumption to the next fault."""
RUN_LIMIT_S = 400.0
"""Two minutes on a quiet machine with two cores; a busy one takes three times that."""
LOOK_S = 0.05
JOB = "demo"
NODES, NPROC = 2, 2


class Demo:
    """The folders and the two runs."""

    def __init__(self, root: Path, out: Path) -> None:
        self._script = root / "examples" / "train_ddp.py"
        self._data = out / "keepstep"
        self._checkpoints = out / "checkpoints"
        self.losses = out / "losses-disturbed.jsonl"
        self.undisturbed = out / "losses-undisturbed.jsonl"

    @property
    def blows(self) -> tuple[Callable[[], Sequence[str]], ...]:
        """The faults in order: the arguments of ``keepstep fault inject``."""
        return (
            lambda: ("kill", "--rank", "3"),
            lambda: ("stop", "--rank", "1"),
            lambda: ("node-lost", "--node", self._node_of("worker-1")),
        )

    def disturbed(self) -> int:
        """Run under keepstep, strike at the given steps, and return the exit code."""
        command = [
            *keepstep("run", "--data", str(self._data), "--name", JOB, "--nodes", str(NODES), "--nproc", str(NPROC)),
            *("--no-output", "--spares", "1", "--checkpoint-dir", str(self._checkpoints), "--", str(self._script)),
            *("--step-seconds", str(STEP_S), "--checkpoint-dir", str(self._checkpoints)),
            *training(self.losses),
        ]
        with subprocess.Popen(command) as process:
            until = time.monotonic() + RUN_LIMIT_S
            for closed, arguments in enumerate(self.blows):
                if self._steps_after(closed, process, until):
                    self._inject(arguments())
            try:
                return process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.terminate()
                return process.wait()

    def _steps_after(self, closed: int, process: "subprocess.Popen[bytes]", until: float) -> bool:
        """Wait until so many incidents are closed and training has stepped on; False if it ended or took too long."""
        due = None
        while process.poll() is None and time.monotonic() < until:
            if due is None and self._closed() >= closed:
                due = last_step(self.losses) + BETWEEN
            if due is not None and last_step(self.losses) >= due:
                return True
            time.sleep(LOOK_S)
        return False

    def _closed(self) -> int:
        """Return how many incidents of the disturbed run are over."""
        return sum(isinstance(message, IncidentClosed) for message in self._story())

    def _story(self) -> list[Message]:
        """Return what was said so far in the disturbed run."""
        stories = [path.read_text(encoding="utf-8") for path in runs_folder(self._data).glob(f"{JOB}-*/events.jsonl")]
        return [read_line(line) for story in stories for line in story.split("\n")[:-1]]

    def _node_of(self, task: str) -> str:
        view = JobView()
        for message in self._story():
            view.hear(message)
        return next(placed.node for placed in view.placement if placed.task.name == task)

    def _inject(self, arguments: Sequence[str]) -> None:
        """Do what ``keepstep fault inject`` does, in this process: a new one starts seconds late on a busy machine."""
        run(["fault", "inject", *arguments, "--job", JOB, "--data", str(self._data)])

    def plain(self) -> int:
        """Run the same script with torchrun, without faults and without keepstep, and return the exit code."""
        world = str(NODES * NPROC)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", world]
        with self.undisturbed.with_suffix(".log").open("wb") as log:
            return subprocess.run(
                [*command, str(self._script), *training(self.undisturbed)],
                check=False,
                timeout=RUN_LIMIT_S,
                stdout=log,
                stderr=subprocess.STDOUT,
            ).returncode

    def summary(self) -> Summary:
        """Return what the disturbed run left."""
        (path,) = runs_folder(self._data).glob(f"{JOB}-*/summary.json")
        return Summary.model_validate_json(path.read_text(encoding="utf-8"))


def keepstep(*arguments: str) -> list[str]:
    """Return a keepstep command line for this interpreter."""
    return [sys.executable, "-m", "keepstep.cli", *arguments]


def training(losses: Path) -> list[str]:
    """Return the options that both runs share."""
    return ["--steps", str(STEPS), "--save-every", "10", "--losses", str(losses)]


def read_losses(path: Path) -> list[tuple[int, str]]:
    """Return step and loss as they were printed, in the order in which they were made."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(int(line["step"]), str(line["loss"])) for line in map(json.loads, lines)]


def last_step(path: Path) -> int:
    """Return the last step of a loss file; 0 before the first. A line that is being written is not counted."""
    try:
        *whole, _ = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return 0
    return int(json.loads(whole[-1])["step"]) if whole else 0


def differences(disturbed: list[tuple[int, str]], undisturbed: list[tuple[int, str]]) -> list[str]:
    """Return what tells the runs apart: missing steps and losses that are not the same to the last digit."""
    expected = dict(undisturbed)
    missing = sorted(set(expected) - {step for step, _ in disturbed})
    wrong = [f"step {step}: {loss}, not {expected.get(step)}" for step, loss in disturbed if expected.get(step) != loss]
    return [*(f"step {step} is missing" for step in missing), *wrong]


def complaints(code: int, summary: Summary, blows: int) -> list[str]:
    """Return what is wrong with the disturbed run apart from its losses."""
    found = [] if code == 0 else [f"the run exited with {code}: {summary.because}"]
    if len(summary.incidents) != blows:
        found.append(f"{len(summary.incidents)} incidents for {blows} faults")
    return found + [
        f"incident {one.incident} ended {one.outcome}"
        for one in summary.incidents
        if one.outcome is not Outcome.RESUMED
    ]


def main() -> int:
    """Run both, compare, and return the exit code."""
    root = Path.cwd()
    out = root / "demo-output"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    import_module("keepstep.cli.commands.fault")
    demo = Demo(root, out)
    began = time.monotonic()
    code = demo.disturbed()
    wrong = complaints(code, demo.summary(), len(demo.blows))
    sys.stdout.write("\nthe same training with plain torchrun and without faults, for comparison\n")
    if (plain := demo.plain()) != 0:
        wrong.append(f"the undisturbed run exited with {plain}")
    losses, expected = read_losses(demo.losses), read_losses(demo.undisturbed)
    apart = differences(losses, expected)
    wrong += apart[:10]
    for line in wrong:
        sys.stdout.write(f"demo: {line}\n")
    sys.stdout.write(
        f"demo: {'FAILED' if wrong else 'passed'} in {time.monotonic() - began:.0f} s: {len(expected)} steps,"
        f" {len(losses) - len(expected)} recomputed, losses {'differ' if apart else 'equal to the last digit'}\n"
    )
    return int(bool(wrong) or not expected)


if __name__ == "__main__":
    sys.exit(main())
