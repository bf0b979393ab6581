"""``make demo``: a real DDP training loses a rank, freezes one and loses a node, and still makes the same losses.

Exits 0 only if the job finished, every fault became one incident that was resumed, and the loss of every step,
recomputed ones included, equals that of an undisturbed run of plain torchrun.
"""

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from keepstep.cli import show
from keepstep.cli.blows import Blow, outcome_table, wrong_names
from keepstep.cli.connect import joined
from keepstep.cli.errors import Failed
from keepstep.cli.history import read_line
from keepstep.cli.main import run
from keepstep.cli.options import write
from keepstep.cli.places import runs_folder
from keepstep.cli.watch import Summary
from keepstep.contracts.events import IncidentClosed
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Outcome
from keepstep.contracts.telemetry import Heartbeat
from keepstep.core.job_now import JobNow
from keepstep.core.sentences import counted

STEPS = 500
STEP_S = 0.1
"""Fifty seconds of stepping in all: room for three faults, each with steps and new spares before it."""
BETWEEN = 15
"""Steps from a resumption to the next fault."""
RUN_LIMIT_S = 400.0
"""Two minutes on a quiet machine with two cores; a busy one takes three times that."""
LOOK_S = 0.05
SPARES_LIMIT_S = 12.0
"""Spares are made at low priority; on a busy machine the next fault does not wait for them for ever."""
JOB = "demo"
NODES, NPROC = 2, 2
BLOWS = 3
MISMATCHES_SHOWN = 10


class Demo:
    """The folders and the two runs."""

    def __init__(self, root: Path, out: Path) -> None:
        self._script = root / "examples" / "train_ddp.py"
        self._data = out / "keepstep"
        self._checkpoints = out / "checkpoints"
        self.losses = out / "losses-disturbed.jsonl"
        self.undisturbed = out / "losses-undisturbed.jsonl"
        self._report = out / "report.html"
        self.dealt: list[Blow] = []
        """The faults that were injected, in order."""

    def _next_blow(self) -> Blow:
        match len(self.dealt):
            case 0:
                return Blow(kind="kill", words="rank 3 killed", rank=3)
            case 1:
                return Blow(kind="stop", words="rank 1 frozen", rank=1)
            case _:
                node = self._node_of("worker-1")
                return Blow(kind="node-lost", words=f"node {node} lost", node=node)

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
            for number in range(BLOWS):
                if self._steps_after(number, process, until):
                    asyncio.run(self._spares_ready())
                    self._deal(self._next_blow())
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
        view = JobNow()
        for message in self._story():
            view.hear(message)
        return next(placed.node for placed in view.placement if placed.task.name == task)

    async def _spares_ready(self) -> None:
        """Wait until every task has a spare for each of its ranks, so that the next restart is as fast as it can be."""
        view, ready = JobNow(), asyncio.Event()
        for message in self._story():
            view.hear(message)

        def felt(beat: Heartbeat) -> None:
            view.feel(beat)
            warm = [beat.warm_ready >= NPROC for beat in view.beats.values()]
            if len(warm) == len(view.placement) and all(warm):
                ready.set()

        with contextlib.suppress(Failed, TimeoutError):
            async with joined(self._data, JOB) as (client, _):
                hearing = asyncio.ensure_future(client.telemetry.hear(felt))
                try:
                    async with asyncio.timeout(SPARES_LIMIT_S):
                        await ready.wait()
                finally:
                    hearing.cancel()

    def _deal(self, blow: Blow) -> None:
        """Do what ``keepstep fault inject`` does, in this process: a new one starts seconds late on a busy machine."""
        if run(["fault", "inject", *blow.arguments, "--job", JOB, "--data", str(self._data)]) == 0:
            self.dealt.append(blow)

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

    def summary(self) -> Summary | None:
        """Return what the disturbed run left; None if it came to no orderly end."""
        paths = list(runs_folder(self._data).glob(f"{JOB}-*/summary.json"))
        return Summary.model_validate_json(paths[0].read_text(encoding="utf-8")) if paths else None

    def write_report(self) -> int:
        """Leave a report of the disturbed run, say where, and return the exit code of the command that does it."""
        told = ["--data", str(self._data), "--losses", str(self.losses), "--output", str(self._report)]
        return run(["report", "--job", JOB, *told])


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


def complaints(code: int, summary: Summary, dealt: Sequence[Blow]) -> list[str]:
    """Return what is wrong with the disturbed run apart from its losses."""
    found = [] if code == 0 else [f"the run exited with {code}: {summary.because or summary.state}"]
    if len(dealt) != BLOWS:
        found.append(f"{counted(len(dealt), 'fault')} injected, {BLOWS} are due")
    if len(summary.incidents) != len(dealt):
        found.append(f"{counted(len(summary.incidents), 'incident')} for {counted(len(dealt), 'fault')}")
    found += [
        f"incident {show.short(one.incident)} ended {one.outcome or 'open'}"
        for one in summary.incidents
        if one.outcome is not Outcome.RESUMED
    ]
    return found + wrong_names(dealt, summary.incidents)


def report(demo: Demo, summary: Summary, wrong: Sequence[str], seconds: float) -> int:
    """Print one line per fault, the ratio and the verdict with its reasons; return the exit code."""
    losses, expected = read_losses(demo.losses), read_losses(demo.undisturbed)
    apart = differences(losses, expected)
    found = [*wrong, *apart[:MISMATCHES_SHOWN]] or ([] if expected else ["the undisturbed run made no step"])
    equal = "equal those of plain torchrun to the last digit" if not apart else "differ from those of plain torchrun"
    again = max(0, len(losses) - len(expected))
    write(f"\n{outcome_table(demo.dealt, summary.incidents)}\n\n{show.ratio_line(summary.ratio)}")
    write(f"losses of {counted(len(expected), 'step')}, {again} made again, {equal}")
    write(f"demo: {'FAIL' if found else 'PASS'} after {seconds:.0f} s{''.join(f'; {why}' for why in found)}")
    return int(bool(found))


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
    if (summary := demo.summary()) is None:
        sys.stdout.write(f"demo: FAIL; the run exited with {code} and left no summary\n")
        return 1
    wrong = complaints(code, summary, demo.dealt)
    if demo.write_report() != 0:
        wrong.append("there is no report of the run")
    sys.stdout.write("\nthe same training with plain torchrun and without faults, for comparison\n")
    if (plain := demo.plain()) != 0:
        wrong.append(f"the undisturbed run exited with {plain}")
    return report(demo, summary, wrong, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
