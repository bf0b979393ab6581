"""A cluster in memory whose tasks are agents that keep to the plan; it never lets two lives of a job step at once."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from keepstep.agent.reconcile import Running
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.core.sentences import counted
from keepstep.ports.clock import Clock
from keepstep.ports.cluster import Census, CordonMark, NodeStatus, TaskPhase, TaskStatus
from keepstep.ports.errors import NoRoom, Permanent
from keepstep.ports.roll import Roll
from tests.pipeline.agent import WORK_S, Agent, Beats, Board, Stream
from tests.pipeline.stream import Signal


@dataclass
class Node:
    """One machine with room for one task."""

    name: NodeName
    ready: bool = True
    mark: CordonMark | None = None


class MemoryCluster:
    """Nodes, tasks and their agents."""

    def __init__(self, stream: Stream, board: Board, telemetry: Beats, *nodes: str, clock: Clock) -> None:
        self.stream, self.board, self.telemetry, self.clock = stream, board, telemetry, clock
        self.known = {NodeName(name): Node(NodeName(name)) for name in nodes}
        self.agents: dict[TaskUid, Agent] = {}
        self.placements: list[TaskUid] = []
        self.starts: list[tuple[JobUid, int, int]] = []
        """Job, rank and generation of every start of a rank."""
        self.failures: list[BaseException] = []
        """What agents found wrong."""
        self._changes: list[TaskStatus] = []
        self._changed = Signal()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run an agent's work; what it raises is kept."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.failures.append(error)

    async def nodes(self) -> tuple[NodeStatus, ...]:
        """Return all nodes."""
        return tuple(NodeStatus(node.name, node.ready, None, node.mark, self._on(node)) for node in self.known.values())

    async def census(self) -> Census:
        """Return the same nodes, counted."""
        return Roll(await self.nodes()).census

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        """Mark the node."""
        there = self.known[node]
        if there.mark is not None and there.mark.owner != mark.owner:
            raise Permanent(f"node {node} is cordoned by {there.mark.owner}")
        there.mark = there.mark or mark

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        """Take the mark away."""
        there = self.known[node]
        if there.mark is not None and there.mark.owner != owner:
            raise Permanent(f"node {node} is cordoned by {there.mark.owner}")
        there.mark = None

    async def tasks(self, job: JobUid | None = None) -> tuple[TaskStatus, ...]:
        """Return all tasks that ever were."""
        return tuple(agent.status for agent in self.agents.values() if job in (None, agent.status.job))

    async def create(self, launches: Sequence[TaskLaunch], *, avoid: frozenset[NodeName]) -> None:
        """Place all that are not known yet, or none."""
        missing = [launch for launch in launches if launch.task.uid not in self.agents]
        fit = [node for node in self.known.values() if node.ready and node.mark is None and node.name not in avoid]
        free = [node for node in fit if not self._on(node)]
        if len(free) < len(missing):
            raise NoRoom(
                f"needs {counted(len(missing), 'node')} without a group, {len(free)} of {len(self.known)} free"
            )
        for launch, node in zip(missing, free, strict=False):
            self.placements.append(launch.task.uid)
            agent = self.agents[launch.task.uid] = Agent(self, launch, node.name)
            self.note(agent)

    async def delete(self, task: TaskUid, *, grace: timedelta) -> None:
        """End the task, some moments later."""
        agent = self.agents.get(task)
        if agent is not None:
            after = min(WORK_S, grace.total_seconds())
            asyncio.get_running_loop().call_later(after, agent.die, LossCause.DELETED)

    async def watch(self) -> AsyncIterator[TaskStatus]:
        """Yield every task, then every change."""
        seen = len(self._changes)
        for agent in list(self.agents.values()):
            yield agent.status
        while True:
            while seen < len(self._changes):
                seen += 1
                yield self._changes[seen - 1]
            await self._changed.changed()

    def supports(self) -> frozenset[Level]:
        """Return all levels."""
        return frozenset(Level)

    def lose(self, node: NodeName) -> None:
        """The node is gone with everything on it."""
        self.known[node].ready = False
        for uid in self._on(self.known[node]):
            self.agents[uid].die(LossCause.NODE_LOST)

    def marked(self) -> set[NodeName]:
        """Return the nodes that are cordoned."""
        return {name for name, node in self.known.items() if node.mark is not None}

    def lost(self) -> set[NodeName]:
        """Return the nodes that are gone."""
        return {name for name, node in self.known.items() if not node.ready}

    def note(self, agent: Agent) -> None:
        """Tell the watchers of a task's change."""
        self._changes.append(agent.status)
        self._changed.ring()

    def agent_of(self, rank: int, job: JobUid | None = None) -> Agent:
        """Return the live agent whose task holds the rank."""
        return next(agent for agent in self.live(job) if rank in {each.rank for each in agent.launcher.ranks})

    def live(self, job: JobUid | None = None) -> list[Agent]:
        """Return the agents of tasks that run, of one job or all."""
        there = [agent for agent in self.agents.values() if job in (None, agent.status.job)]
        return [agent for agent in there if agent.status.phase is not TaskPhase.GONE]

    def running(self, job: JobUid | None = None) -> list[Running]:
        """Return all ranks alive, of one job or all."""
        return [rank for agent in self.live(job) for rank in agent.launcher.ranks]

    def _on(self, node: Node) -> tuple[TaskUid, ...]:
        return tuple(agent.launch.task.uid for agent in self.live() if agent.status.node == node.name)
