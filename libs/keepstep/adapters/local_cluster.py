"""A cluster of local nodes: folders with a supervisor process each, for workstations, tests and the demo."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from keepstep.adapters.local_files import NodeFolder, NodeRecord, folders, live, try_lock
from keepstep.adapters.local_placement import Room, place
from keepstep.adapters.local_processes import living, of_node
from keepstep.adapters.local_supervisor import buried
from keepstep.adapters.local_watch import watch
from keepstep.adapters.local_wire import (
    CreateTask,
    DeleteTask,
    Listing,
    ListTasks,
    Refused,
    Request,
    ask,
)
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import Census, CordonMark, NodeStatus, TaskStatus
from keepstep.ports.errors import NoRoom, Permanent, Transient
from keepstep.ports.roll import Roll

ANSWER_LIMIT_S = 5.0
"""A supervisor answers within milliseconds; one that is stopped or swapped out counts as not ready."""
PLACING_LIMIT_S = 10.0
PLACING_PAUSE_S = 0.01


@dataclass(frozen=True)
class _Sight:
    """A node as it was found; its tasks are the written ones where no supervisor answers."""

    folder: NodeFolder
    record: NodeRecord
    ready: bool
    lost: bool
    tasks: tuple[TaskStatus, ...]

    @property
    def present(self) -> tuple[TaskStatus, ...]:
        return tuple(task for task in self.tasks if live(task))

    @property
    def node(self) -> NodeStatus:
        uids = tuple(task.ref.uid for task in self.present)
        return NodeStatus(self.folder.name, self.ready, self.record.group, self.record.mark, uids)


class LocalCluster:
    """Fleet and Workloads over the node folders below ``cluster``; keeps no state, so any process may have one."""

    def __init__(self, cluster: Path) -> None:
        self._cluster = cluster.resolve()

    async def nodes(self) -> tuple[NodeStatus, ...]:
        """Return all nodes; one whose supervisor is dead or does not answer is not ready."""
        return tuple(sight.node for sight in await self._look())

    async def census(self) -> Census:
        """Return the same nodes, counted."""
        return Roll(await self.nodes()).census

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        """Keep new tasks off the node, lost or not; raises Permanent for a foreign mark or an unknown node."""

        def change(record: NodeRecord | None) -> NodeRecord:
            known = _known(record, node)
            if known.mark is not None and known.mark.owner != mark.owner:
                raise Permanent(f"node {node} is cordoned by {known.mark.owner} ({known.mark.reason}); it stays theirs")
            return known if known.mark is not None else known.model_copy(update={"mark": mark})

        self._existing(node).change(change)

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        """Let tasks on again; raises Permanent for a foreign mark or an unknown node."""

        def change(record: NodeRecord | None) -> NodeRecord:
            known = _known(record, node)
            if known.mark is not None and known.mark.owner != owner:
                raise Permanent(
                    f"node {node} was cordoned by {known.mark.owner}, not by {owner}: ask them to release it"
                )
            return known.model_copy(update={"mark": None})

        self._existing(node).change(change)

    async def tasks(self, job: JobUid | None = None) -> tuple[TaskStatus, ...]:
        """Return the tasks of all nodes, the recently gone ones included."""
        return tuple(task for sight in await self._look() for task in sight.tasks if job in (None, task.job))

    async def create(self, launches: Sequence[TaskLaunch], *, avoid: frozenset[NodeName]) -> None:
        """Place and start all of them, or none; known uids are left as they are. Raises NoRoom.

        Creations exclude each other across processes. Should a node die between placing and starting (milliseconds),
        Transient is raised and saying the same again places the rest.
        """
        async with self._placing():
            sights = await self._look()
            known = {task.ref.uid for sight in sights for task in sight.tasks}
            missing = [launch for launch in launches if launch.task.uid not in known]
            rooms = [Room(sight.node, sight.record.slots, sight.present) for sight in sights]
            for launch, node in place(missing, rooms, avoid=avoid):
                await self._order(self._folder(node), CreateTask(launch=launch))

    async def delete(self, task: TaskUid, *, grace: timedelta) -> None:
        """End the task: SIGTERM, then after ``grace`` SIGKILL; absent is fine."""
        await self.end(task, grace=grace, by=LossCause.DELETED)

    async def end(self, task: TaskUid, *, grace: timedelta, by: LossCause) -> None:
        """End the task and record whose doing it was."""
        for sight in await self._look():
            if not sight.lost and any(one.ref.uid == task for one in sight.present):
                await self._order(sight.folder, DeleteTask(task=task, grace_s=grace.total_seconds(), by=by))

    def watch(self) -> AsyncIterator[TaskStatus]:
        """Yield every task, then every change; the tasks of a lost node are ended and said to be gone."""
        return watch(self._cluster)

    def supports(self) -> frozenset[Level]:
        """Return all levels: local tasks are cheap to replace."""
        return frozenset(Level)

    def _folder(self, node: NodeName) -> NodeFolder:
        return NodeFolder(self._cluster / "nodes" / node)

    def _existing(self, node: NodeName) -> NodeFolder:
        folder = self._folder(node)
        _known(folder.record(), node)
        return folder

    async def _look(self) -> list[_Sight]:
        if not self._cluster.is_dir():
            raise Transient(f"there is no local cluster at {self._cluster}; start its nodes first")
        seen = await asyncio.gather(*(_see(folder) for folder in folders(self._cluster)))
        return [sight for sight in seen if sight is not None]

    async def _order(self, folder: NodeFolder, request: Request) -> None:
        reply = await ask(folder.socket, request, limit_s=ANSWER_LIMIT_S)
        if isinstance(reply, Refused):
            raise NoRoom(reply.why) if reply.full else Permanent(reply.why)

    @contextlib.asynccontextmanager
    async def _placing(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PLACING_LIMIT_S
        while loop.time() < deadline:
            with try_lock(self._cluster / "placement.lock") as held:
                if held:
                    yield
                    return
            await asyncio.sleep(PLACING_PAUSE_S)  # waiting for a file lock itself would hold up the loop
        raise Transient(f"another creation has held {self._cluster / 'placement.lock'} for {PLACING_LIMIT_S} s")


def cluster_of(setting: str) -> LocalCluster:
    """Return the cluster that KEEPSTEP_CLUSTER names; raises Permanent for a kind that is not known."""
    kind, _, folder = setting.partition(":")
    if kind == "local" and folder:
        return LocalCluster(Path(folder))
    raise Permanent(f"KEEPSTEP_CLUSTER {setting!r} names no cluster: write local:<folder>")


async def _see(folder: NodeFolder) -> _Sight | None:
    record = folder.record()
    if record is None:
        return None
    if not folder.supervised():
        return _Sight(folder, record, ready=False, lost=True, tasks=_lost(folder))
    try:
        reply = await ask(folder.socket, ListTasks(), limit_s=ANSWER_LIMIT_S)
    except Transient:
        return _Sight(folder, record, ready=False, lost=False, tasks=folder.statuses())
    return _Sight(folder, record, ready=True, lost=False, tasks=reply.tasks if isinstance(reply, Listing) else ())


def _lost(folder: NodeFolder) -> tuple[TaskStatus, ...]:
    """Return the tasks of a lost node; their end is proven when no process of the node can be seen."""
    statuses = folder.statuses()
    if not any(live(status) for status in statuses):
        return statuses
    proven = not living(of_node(folder.root))
    return tuple(buried(status, proven=proven) if live(status) else status for status in statuses)


def _known(record: NodeRecord | None, node: NodeName) -> NodeRecord:
    if record is None:
        raise Permanent(f"there is no node {node} in this cluster")
    return record
