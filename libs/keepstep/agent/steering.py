"""Brings the launcher to what the plan wants: hears both, does the one next thing, until nothing is left."""

import asyncio
import json
import logging
from collections.abc import Sequence
from pathlib import Path

from keepstep.agent.environment import rank_environment, resume_arguments
from keepstep.agent.files import keep, recall, write_whole
from keepstep.agent.link import Link
from keepstep.agent.outbox import Outbox
from keepstep.agent.ports import free_ports
from keepstep.agent.rank_table import FILE, rank_table
from keepstep.agent.ranks import Ranks
from keepstep.agent.reconcile import (
    Action,
    EndTask,
    Launcher,
    Memory,
    Running,
    SayApplied,
    StartRanks,
    StopRanks,
    applied,
    reconcile,
)
from keepstep.agent.report import Cause, Reporter, exit_of
from keepstep.agent.tail import last_lines
from keepstep.contracts.events import Versions
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Applied, Framework
from keepstep.contracts.topology import Device
from keepstep.ports.clock import LocalClock
from keepstep.trainer.wire import Do, Line, Say

FLUSH_S = 5.0
"""How long an agent that ends waits for the bus to take its last words; the launcher and the plan know them too."""

_log = logging.getLogger(__name__)


class Steering:
    """Holds plan, launcher and memory; every method is called from the event loop and returns at once."""

    def __init__(
        self,
        reporter: Reporter,
        *,
        task_dir: Path,
        address: str,
        clock: LocalClock,
        outbox: Outbox,
        ranks: Ranks,
        devices: Sequence[Device] = (),
    ) -> None:
        self._reporter = reporter
        self._task_dir = task_dir
        self._address = address
        self._devices = devices
        self._clock = clock
        self._outbox = outbox
        self._ranks = ranks
        self._kept = task_dir / "agent" / "memory.json"
        self._head: PlanHead | None = None
        self._entry: PlanEntry | None = None
        self._ordered: Action | None = None
        self._fenced_because = ""
        self.link = Link(task_dir)
        self.launcher = Launcher()
        self.memory = recall(self._kept, Memory)
        self.remember(self.memory.model_copy(update={"boots": self.memory.boots + 1}))
        self.joined = False
        """The launcher was heard in this life of the agent; before that nothing is known of the ranks."""
        self.ended = asyncio.Event()
        """Set when the plan ended this task and the launcher was told."""

    @property
    def boot(self) -> str:
        """What tells this life of the agent from its others."""
        return str(self.memory.boots)

    @property
    def stopping(self) -> bool:
        """Whether ranks are being stopped: what they show then is no stall."""
        return isinstance(self._ordered, StopRanks | EndTask)

    def remember(self, memory: Memory) -> None:
        """Keep the memory on disk."""
        self.memory = memory
        keep(self._kept, memory)

    def plan(self, head: PlanHead, entry: PlanEntry | None) -> None:
        """Take a newer plan and go on."""
        self._head, self._entry = head, entry
        self.advance()

    def fence(self, because: str) -> None:
        """Stop the ranks on the agent's own account: it is cut off and they make no step."""
        generation = self._ranks.generation
        if self.memory.fenced >= generation or not self.link.connected:
            return
        _log.warning("event=fence generation=%d because=%s", generation, because)
        self._fenced_because = because
        self.remember(self.memory.model_copy(update={"fenced": generation}))
        self._order(StopRanks(generation))

    def lost(self) -> None:
        """The launcher's line ended: orders without an answer are given again after its next hello."""
        self._ordered = None

    def heard(self, line: Line) -> None:
        """Take one message of the launcher and go on."""
        match line.get("say"):
            case Say.HELLO:
                self._hello(line)
            case Say.STARTED:
                self._started(line)
            case Say.REFUSED:
                self._refused(line)
            case Say.STOPPED:
                self._stopped(line)
            case Say.EXIT:
                self._exit(line)
            case Say.WARM:
                self.launcher = self.launcher.model_copy(update={"warm": int(line["ready"])})
            case other:
                _log.warning("launcher says %r, which this agent does not know", other)
        self.advance()

    def advance(self) -> None:
        """Do what is next until nothing is left or an order waits for its answer."""
        while True:
            action = reconcile(self._head, self._entry, self.launcher, self.memory)
            if action is None or action == self._ordered or not self.link.connected:
                return
            if not isinstance(action, SayApplied):
                self._order(action)
                return
            self._say(action)

    def _say(self, said: SayApplied) -> None:
        head = self._head
        ports = free_ports() if said.applied is Applied.STOPPED else ()
        about = Cause(head.incident, head.cause) if head else Cause()
        event = self._reporter.applied(self._clock.now(), said, self.launcher, ports=ports, about=about)
        _log.info("event=PlanApplied generation=%d applied=%s because=%s", said.generation, said.applied, said.because)
        self._outbox.put(event)
        self.remember(applied(self.memory, said))

    def _order(self, action: StopRanks | StartRanks | EndTask) -> None:
        self._ordered = action
        policy = self._reporter.launch.spec.policy.trainer
        match action:
            case StopRanks(generation):
                grace, kill = policy.stop_grace.total_seconds(), policy.kill_deadline.total_seconds()
                self.link.order({"do": Do.STOP, "generation": generation, "grace_s": grace, "kill_s": kill})
            case StartRanks(head, entry):
                self._write_rank_table(head)
                ranks = self._rank_orders(head, entry)
                self.link.order({"do": Do.START, "generation": head.generation, "ranks": ranks})
            case EndTask():
                self._ending = asyncio.get_running_loop().create_task(self._end())
        _log.info("order=%s generation=%d", type(action).__name__, self._ranks.generation)

    async def _end(self) -> None:
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._outbox.flushed()
        except TimeoutError:
            _log.warning("the bus did not take the last words within %.0f s", FLUSH_S)
        self.link.order({"do": Do.END, "code": 0 if self._head is None else self._head.exit_code})
        await self.link.sent()
        self.ended.set()

    def _write_rank_table(self, head: PlanHead) -> None:
        """Write the table before the first rank can look for it, in one piece; frameworks without one get none."""
        spec = self._reporter.launch.spec
        if spec.framework is Framework.MINDSPORE:
            table = rank_table(spec.rank_table, head.peers, spec.nproc)
            write_whole(self._task_dir / FILE, json.dumps(table, indent=1))

    def _rank_orders(self, head: PlanHead, entry: PlanEntry) -> Sequence[Line]:
        launch = self._reporter.launch
        args = resume_arguments(launch.spec.resume_arg, head)
        return [
            {
                "rank": rank,
                "local_rank": local_rank,
                "env": rank_environment(launch, head, entry, local_rank=local_rank, task_dir=self._task_dir),
                "args": args,
            }
            for local_rank, rank in enumerate(entry.ranks)
        ]

    def _hello(self, line: Line) -> None:
        ranks = tuple(Running.model_validate(each) for each in line["ranks"])
        self.launcher = Launcher(generation=int(line["generation"]), ranks=ranks, warm=int(line["warm"]))
        self._ordered = None
        self._ranks.take(self.launcher, self._clock.monotonic())
        if not self.joined:
            self.joined = True
            self._outbox.put(
                self._reporter.joined(
                    self._clock.now(),
                    boot=self.boot,
                    launcher=self.launcher,
                    versions=Versions.model_validate(line["versions"]),
                    address=self._address,
                    ports=free_ports(),
                    devices=self._devices,
                )
            )

    def _started(self, line: Line) -> None:
        generation = int(line["generation"])
        ranks = tuple(Running.model_validate(each | {"generation": generation}) for each in line["ranks"])
        warm_used = sum(bool(each["warm"]) for each in line["ranks"])
        self._change(generation=generation, ranks=ranks, warm_used=warm_used, unkillable=(), because="")

    def _refused(self, line: Line) -> None:
        self._change(refused=int(line["generation"]), because=str(line["why"]))

    def _stopped(self, line: Line) -> None:
        generation = int(line["generation"])
        left = tuple(each for each in self.launcher.ranks if each.generation > generation)
        self._change(stopped=generation, unkillable=tuple(line["unkillable"]), ranks=left, warm_used=0)

    def _change(self, **fields: object) -> None:
        self.launcher = self.launcher.model_copy(update=fields)
        self._ordered = None
        self._ranks.take(self.launcher, self._clock.monotonic())

    def _exit(self, line: Line) -> None:
        generation, rank, local_rank = int(line["generation"]), int(line["rank"]), int(line["local_rank"])
        running = Running(rank=rank, local_rank=local_rank, pid=int(line["pid"]), generation=generation)
        slot = self._ranks.slot(local_rank, generation)
        event = self._reporter.exited(
            self._clock.now(),
            line,
            slot,
            last_lines(self._task_dir, generation, rank),
            fenced=self._fence_of(generation),
            ahead=self._clock.now() - self._clock.wall(),
        )
        self._outbox.put(event, lambda: self.link.order({"do": Do.ACK, "exits": [line["id"]]}))
        _log.info("event=RankExited rank=%d generation=%d exit=%s", rank, generation, event.exit)
        left = tuple(each for each in self.launcher.ranks if (each.rank, each.generation) != (rank, generation))
        self.launcher = self.launcher.model_copy(update={"ranks": left})
        self._ranks.end(running, exit_of(line))

    def _fence_of(self, generation: int) -> str:
        if generation != self.memory.fenced:
            return ""
        return self._fenced_because or "cut off from the bus and without a step for too long"
