"""A task of the cluster in memory: its agent and launcher in one, which keep to the plan as the real ones do."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from keepstep.agent.first_step import FirstStep
from keepstep.agent.reconcile import (
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
from keepstep.agent.report import Cause, Reporter
from keepstep.contracts.events import CheckpointSaved, RankExited, Versions
from keepstep.contracts.ids import JobUid, NodeName, TaskUid, observation_id
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Applied, LossCause
from keepstep.contracts.telemetry import Exit, Heartbeat, RankBeat
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.clock import Clock
from keepstep.ports.cluster import TaskPhase, TaskStatus

WORK_S = 0.02
"""How long starting and stepping take, and a stop on the first task; later tasks are slower to stop."""
STEP = 30
SAVED = 20


class Stream(Protocol):
    """Where agents say what they saw."""

    def publish(self, message: Message) -> None:
        """Take one message."""


class Board(Protocol):
    """Where agents see the plan."""

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return the current entry of a task."""

    def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the head and its changes."""


class Beats(Protocol):
    """Where agents send their heartbeats."""

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Send one."""


class Around(Protocol):
    """The cluster as its agents have it."""

    stream: Stream
    board: Board
    telemetry: Beats
    clock: Clock
    starts: list[tuple[JobUid, int, int]]

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run an agent's work; what it raises is kept."""

    def running(self, job: JobUid | None = None) -> list[Running]:
        """Return all ranks alive, of one job or all."""

    def note(self, agent: "Agent") -> None:
        """Tell the watchers of a task's change."""


@dataclass
class Agent:
    """One task's agent and launcher in one: does what ``reconcile`` says and reports it in the agent's own words."""

    cluster: Around
    launch: TaskLaunch
    node: NodeName
    launcher: Launcher = field(default_factory=Launcher)
    memory: Memory = field(default_factory=Memory)
    head: PlanHead | None = None
    entry: PlanEntry | None = None
    exits: list[RankBeat] = field(default_factory=list)
    mute: bool = False
    """Its heartbeats are lost."""

    def __post_init__(self) -> None:
        self.status = TaskStatus(self.launch.job.uid, self.launch.task, TaskPhase.RUNNING, self.node)
        self.clock = self.cluster.clock
        self.reporter = Reporter(self.launch, self.node)
        self.work = [self.cluster.spawn(self.follow()), self.cluster.spawn(self.beat())]

    def die(self, by: LossCause) -> None:
        """The task and all its processes are gone."""
        if self.status.phase is TaskPhase.GONE:
            return
        for task in self.work:
            task.cancel()
        self.launcher = self.launcher.model_copy(update={"ranks": ()})
        self.status = replace(self.status, phase=TaskPhase.GONE, by=by, proven=True, at=self.clock.now())
        self.cluster.note(self)

    def cut_off(self) -> None:
        """Nothing reaches it any more and nothing of it is heard; its ranks go on."""
        self.mute = True
        self.work[0].cancel()

    def end_rank(self, rank: int, how: Exit) -> None:
        """One rank's process ends by itself."""
        ended = next(each for each in self.launcher.ranks if each.rank == rank)
        left = tuple(each for each in self.launcher.ranks if each is not ended)
        self.launcher = self.launcher.model_copy(update={"ranks": left})
        self.exits.append(RankBeat(rank=rank, pid=ended.pid, exit=how, step=STEP))
        self.cluster.stream.publish(self._exited(ended, how))

    def _exited(self, rank: Running, how: Exit) -> RankExited:
        seen = observation_id("RankExited", self.launch.task.uid, rank.generation, rank=rank.rank)
        return RankExited(
            id=seen,
            **self._about(rank.generation),
            rank=rank.rank,
            local_rank=rank.local_rank,
            pid=rank.pid,
            exit=how,
            ordered=False,
            at=self.clock.now(),
            step=STEP,
            ran_s=60,
        )

    def save_checkpoint(self) -> None:
        """All ranks' state was written to one shared file."""
        spec = self.launch.spec
        path = f"{spec.checkpoint_dir}/step-{SAVED}.pt"
        saved = CheckpointSaved(
            id=observation_id("CheckpointSaved", self.launch.task.uid, 0, rank=None, natural=path),
            **self._about(self.launcher.generation),
            step=SAVED,
            path=path,
            files=(path,),
            ranks=tuple(range(spec.world_size)),
        )
        self.cluster.stream.publish(saved)

    async def follow(self) -> None:
        """Join, then keep to the plan."""
        await asyncio.sleep(WORK_S)
        versions = Versions(python="3.11.2", torch="2.13.0+cpu")
        ports = (4000 + self.launch.task.index, 5000)
        self.cluster.stream.publish(
            self.reporter.joined(
                self.clock.now(), boot="1", launcher=self.launcher, versions=versions, address="127.0.0.1", ports=ports
            )
        )
        async for head in self.cluster.board.watch(self.launch.job.uid):
            self.head, self.entry = head, await self.cluster.board.entry(self.launch.job.uid, self.launch.task.uid)
            while (action := reconcile(self.head, self.entry, self.launcher, self.memory)) is not None:
                if await self._do(action):
                    return

    async def _do(self, action: StopRanks | StartRanks | SayApplied | EndTask) -> bool:
        match action:
            case StopRanks(generation):
                await asyncio.sleep(WORK_S * (1 + 3 * self.launch.task.index))
                left = tuple(rank for rank in self.launcher.ranks if rank.generation > generation)
                self.launcher = self.launcher.model_copy(update={"stopped": generation, "ranks": left})
            case StartRanks(head, entry):
                await asyncio.sleep(WORK_S)
                self._start(head.generation, entry)
            case SayApplied():
                self._say(action)
            case EndTask():
                asyncio.get_running_loop().call_soon(self.die, LossCause.LAUNCHER_EXITED)
                return True
        return False

    def _start(self, generation: int, entry: PlanEntry) -> None:
        alive = self.cluster.running(self.launch.job.uid)
        older = [rank for rank in alive if rank.generation != generation]
        assert not older, f"{older} still run when generation {generation} starts"
        twice = {rank.rank for rank in alive} & set(entry.ranks)
        assert not twice, f"ranks {twice} run already"
        ranks = tuple(
            Running(rank=rank, local_rank=local, pid=1000 * generation + rank, generation=generation)
            for local, rank in enumerate(entry.ranks)
        )
        self.cluster.starts += [(self.launch.job.uid, rank.rank, generation) for rank in ranks]
        self.launcher = self.launcher.model_copy(update={"generation": generation, "ranks": ranks})
        self.exits.clear()

    def _say(self, said: SayApplied) -> None:
        about = Cause(self.head.incident, self.head.cause) if self.head else Cause()
        ports = (6000 + said.generation, 7000) if said.applied is Applied.STOPPED else ()
        now = self.clock.now()
        self.cluster.stream.publish(self.reporter.applied(now, said, self.launcher, ports=ports, about=about))
        self.memory = applied(self.memory, said)
        if said.applied is Applied.STARTED:
            self.work.append(self.cluster.spawn(self._step(said.generation)))

    async def _step(self, generation: int) -> None:
        """Make the first step once all ranks of the job run, if they still do then."""
        job, size = self.launch.job.uid, self.launch.spec.world_size
        while len(self.cluster.running(job)) < size:  # noqa: ASYNC110 - as ranks do
            await asyncio.sleep(WORK_S)
        await asyncio.sleep(WORK_S)
        if self.launcher.generation == generation and len(self.cluster.running(job)) == size:
            first = FirstStep(step=SAVED + 1, estimated=False, init_s=0.01, load_s=0.0, first_step_s=0.01)
            self.cluster.stream.publish(self.reporter.first_step(self.clock.now(), generation, first))

    async def beat(self) -> None:
        """Send a heartbeat as often as the job wants."""
        sequence = 0
        while True:
            ranks = tuple(RankBeat(rank=each.rank, pid=each.pid, step=STEP) for each in self.launcher.ranks)
            heartbeat = Heartbeat(
                time=self.clock.now(),
                pool=self.launch.pool,
                job=self.launch.job,
                task=self.launch.task,
                node=self.node,
                generation=self.launcher.generation,
                boot="1",
                sequence=sequence,
                ranks=(*ranks, *self.exits),
            )
            if not self.mute:
                await self.cluster.telemetry.beat(heartbeat)
            sequence += 1
            await asyncio.sleep(self.launch.spec.policy.detection.heartbeat_every.total_seconds())

    def _about(self, generation: int) -> dict[str, Any]:
        return {
            "time": self.clock.now(),
            "pool": self.launch.pool,
            "job": self.launch.job,
            "task": self.launch.task.uid,
            "node": self.node,
            "generation": generation,
        }
