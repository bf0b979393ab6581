"""The words in which system tests are written: a real job under ``keepstep run``, faults at a step, what came of it.

``ended = job(steps=60).kill(rank=3, at_step=20).finish()`` and then the record is asked. Nothing here waits on
time: every wait is bounded and on a condition of the progress pages, the event record or the command itself.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from keepstep.adapters.local_faults import TaskFault, hurt_task
from keepstep.adapters.local_nodes import LocalNodes
from keepstep.cli.places import StackAddress
from keepstep.contracts import events as e
from keepstep.contracts import orders  # noqa: F401 - registers the orders, which a record also holds
from keepstep.contracts.message import Message
from keepstep.trainer.progress import Page, Slot
from tests.system.ended import POLL_S, Ended
from tests.system.record import Record, end_of

ROOT = Path(__file__).parents[2]
LIMIT_S = 90.0

M = TypeVar("M", bound=Message)


class JobTest:
    """One job of 2 nodes x 2 ranks unless said otherwise, on a private stack in its own folder."""

    def __init__(
        self,
        folder: Path,
        *script: str,
        nodes: int = 2,
        nproc: int = 2,
        spares: int = 0,
        policy: str = "",
        checkpoints: bool = True,
        options: tuple[str, ...] = (),
    ) -> None:
        self.folder, self.nodes, self.nproc = folder, nodes, nproc
        self._earlier = set((folder / "data" / "runs").glob("t-*"))
        self.checkpoints = folder / "checkpoints"
        (folder / "policy.toml").write_text(policy, encoding="utf-8")
        command = [sys.executable, "-m", "keepstep.cli", "run", "--name", "t", "--data", str(folder / "data")]
        command += ["--nodes", str(nodes), "--nproc", str(nproc), "--spares", str(spares)]
        command += ["--policy", str(folder / "policy.toml"), *options]
        if checkpoints:
            command += ["--checkpoint-dir", str(self.checkpoints)]
        self.output = folder / "output.txt"
        self._record: Record | None = None
        environment = {k: v for k, v in os.environ.items() if not k.startswith("KEEPSTEP_")}
        with self.output.open("wb") as sink:
            self.command = subprocess.Popen(
                [*command, "--", *script], cwd=folder, env=environment, stdout=sink, stderr=subprocess.STDOUT
            )

    # -- what is going on ---------------------------------------------------------------------

    @property
    def record_folder(self) -> Path | None:
        """Where this run keeps its things, once it does."""
        found = sorted(set((self.folder / "data" / "runs").glob("t-*")) - self._earlier)
        return found[-1] if found else None

    def task_folders(self) -> list[Path]:
        """Return the folders of all tasks that ever were, newest last."""
        if self.record_folder is None:
            return []
        found = self.record_folder.glob("cluster/nodes/*/tasks/*/progress")
        return [page.parent for page in sorted(found, key=lambda page: page.stat().st_mtime)]

    def slots(self) -> dict[int, Slot]:
        """Return each rank's newest slot: the highest generation that any page has for it."""
        newest: dict[int, Slot] = {}
        for folder in self.task_folders():
            with contextlib.suppress(OSError, ValueError):
                first = json.loads((folder / "task.json").read_text())["task"]["index"] * self.nproc
                page = Page(str(folder / "progress"))
                for local in range(page.slots):
                    slot = page.read(local)
                    known = newest.get(first + local)
                    if slot.pid and (known is None or slot.generation >= known.generation):
                        newest[first + local] = slot
                page.close()
        return newest

    def events(self) -> list[Message]:
        """Return what the command has recorded so far, in the stream's order."""
        if self.record_folder is None or not (self.record_folder / "events.jsonl").exists():
            return []
        if self._record is None:
            self._record = Record(self.record_folder / "events.jsonl")
        return self._record.read()

    def said(self, kind: type[M]) -> list[M]:
        """Return the recorded events of one type."""
        return [event for event in self.events() if isinstance(event, kind)]

    # -- waiting --------------------------------------------------------------------------------

    def until(self, condition: Callable[[], object], what: str, *, limit_s: float = LIMIT_S) -> Self:
        """Wait until the condition holds; fail with the command's output if it ends or takes too long."""
        end = time.monotonic() + limit_s
        while not condition():
            over = self.command.poll() is not None
            if over and condition():
                break
            if over or time.monotonic() > end:
                raise AssertionError(
                    f"{what}: {'the command ended' if over else 'not within the limit'}\n{self.told()}"
                )
            time.sleep(POLL_S)
        return self

    def until_step(self, step: int, *, rank: int = 0, generation: int = 1) -> Self:
        """Wait until the rank has completed the step in this generation or a later one."""

        def reached() -> bool:
            slot = self.slots().get(rank)
            return slot is not None and slot.generation >= generation and slot.step >= step and slot.marks > 0

        return self.until(reached, f"rank {rank} at step {step} of generation {generation}")

    def until_still(self, seconds: float, *, rank: int = 0) -> Self:
        """Wait until the rank has given no mark for this long."""

        def still() -> bool:
            slot = self.slots().get(rank)
            return slot is not None and time.monotonic() - max(slot.mark_ns, slot.phase_ns) / 1e9 > seconds

        return self.until(still, f"rank {rank} still for {seconds} s")

    def until_said(self, kind: type[M], *, count: int = 1) -> Self:
        """Wait until this many events of the type are recorded."""
        return self.until(lambda: len(self.said(kind)) >= count, f"{count} {kind.__name__}")

    # -- doing harm -----------------------------------------------------------------------------

    def kill(self, *, rank: int, at_step: int, generation: int = 1) -> Self:
        """SIGKILL a rank when it has completed the step."""
        return self.send(signal.SIGKILL, rank=rank, at_step=at_step, generation=generation)

    def freeze(self, *, rank: int, at_step: int, generation: int = 1) -> Self:
        """SIGSTOP a rank when it has completed the step."""
        return self.send(signal.SIGSTOP, rank=rank, at_step=at_step, generation=generation)

    def inject(self, kind: str, *, task: str = "", node: str = "") -> Self:
        """Inject what ``keepstep fault inject`` does, without the seconds that a command takes to start."""
        if node:
            return self.lose(node)
        uid = self.placement()[task].task.uid
        asyncio.run(hurt_task(self.address().cluster, uid, TaskFault(kind)))
        return self

    def send(self, number: signal.Signals, *, rank: int, at_step: int, generation: int = 1) -> Self:
        """Send a signal to a rank when it has completed the step."""
        self.until_step(at_step, rank=rank, generation=generation)
        os.kill(self.slots()[rank].pid, number)
        return self

    def thaw(self, *, rank: int) -> Self:
        """SIGCONT a rank."""
        os.kill(self.slots()[rank].pid, signal.SIGCONT)
        return self

    def lose(self, *nodes: str) -> Self:
        """Take nodes away at once: a supervisor that is killed takes everything on its node with it."""
        folders = [LocalNodes(self.address().cluster).folder(node) for node in nodes]
        for pid in [folder.supervisor() for folder in folders]:
            assert pid is not None, f"one of {nodes} is lost already"
            os.kill(pid, signal.SIGKILL)
        return self

    def revive(self, node: str) -> Self:
        """Bring a lost node back, as its machine's start would."""
        address = self.address()
        environment = {"KEEPSTEP_NATS_URL": address.url.get_secret_value(), "KEEPSTEP_POOL": address.pool}
        LocalNodes(address.cluster, env=environment).revive(node)
        return self

    def address(self) -> StackAddress:
        """Return how to reach this run's stack."""
        assert self.record_folder is not None, self.told()
        return StackAddress.model_validate_json((self.record_folder / "stack.json").read_text(encoding="utf-8"))

    def placement(self) -> dict[str, e.Placed]:
        """Return where each task runs, by its name, as last recorded."""
        started: list[e.JobStarted | e.RanksStarted] = [*self.said(e.JobStarted), *self.said(e.RanksStarted)]
        return {placed.task.name: placed for placed in started[-1].placement}

    def processes(self, module: str) -> list[int]:
        """Return this job's processes that run a module (``keepstep.agent``), by their folder on the command line."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().split(b"\0")
                if module.encode() in line and str(self.folder).encode() in b" ".join(line):
                    found.append(int(entry.name))
        return sorted(found)

    def keepstep(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another keepstep command against this run's stack."""
        command = [sys.executable, "-m", "keepstep.cli", *arguments, "--data", str(self.folder / "data")]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    # -- the end --------------------------------------------------------------------------------

    def finish(self, *, limit_s: float = LIMIT_S) -> Ended:
        """Wait for the command's end and return what is left."""
        try:
            code = self.command.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.abandon()
            raise AssertionError(f"not finished after {limit_s} s\n{self.told()}") from None
        return Ended(job=self, code=code, events=self.events())

    def abandon(self) -> None:
        """End whatever is left of the command."""
        if self.command.poll() is None:
            self.command.kill()
            self.command.wait()

    def told(self) -> str:
        """Return the end of what the command printed and of what its parts wrote down."""
        texts = [self.output.read_text(errors="replace")[-6000:]]
        if self.record_folder is not None:
            logs = [*self.record_folder.glob("*.log"), *self.record_folder.glob("cluster/nodes/**/*.log")]
            texts += [f"-- {log.relative_to(self.record_folder)}\n{end_of(log)}" for log in sorted(logs)]
        return "\n".join(texts)

    def pids(self) -> dict[int, str]:
        """Return processes that carry this job's folder in their environment or arguments, with their command lines."""
        mark = str(self.folder).encode()
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes()
                if int(entry.name) != os.getpid() and (mark in line or mark in (entry / "environ").read_bytes()):
                    found[int(entry.name)] = line.replace(b"\0", b" ").decode(errors="replace")
        return found
