"""The supervisor of a local node: takes tasks, answers on its socket, and tells watchers every change."""

import asyncio
import logging
from datetime import UTC, datetime
from typing import assert_never

from keepstep.adapters.local_children import Children
from keepstep.adapters.local_files import NodeFolder, live
from keepstep.adapters.local_processes import of_node, sweep
from keepstep.adapters.local_task import Commands, LocalTask
from keepstep.adapters.local_wire import (
    LONGEST_LINE,
    Changed,
    CreateTask,
    DeleteTask,
    Done,
    KillChild,
    Listing,
    ListTasks,
    Refused,
    Reply,
    Request,
    WatchTasks,
    decode_request,
    encode,
    listen,
)
from keepstep.contracts.ids import TaskUid
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.ports.errors import Permanent

REMEMBERED = 256
"""Gone tasks that are still listed, so that a creation that is said twice is not carried out twice."""
LATE_WATCHER_BYTES = 4 * 1024 * 1024
"""A watcher this far behind is cut off; it connects again and gets a listing."""

_log = logging.getLogger(__name__)


class Supervisor:
    """Holds the tasks of one node; lives in one event loop of a process of its own."""

    def __init__(self, folder: NodeFolder, *, slots: int, commands: Commands, children: Children) -> None:
        self._folder, self._slots, self._commands, self._children = folder, slots, commands, children
        self._statuses: dict[TaskUid, TaskStatus] = {}
        self._tasks: dict[TaskUid, LocalTask] = {}
        self._runs: dict[asyncio.Task[None], TaskUid] = {}
        self._watchers: set[asyncio.StreamWriter] = set()
        self._closing = False
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Bury what an earlier supervisor left on this node, then listen."""
        for pause in sweep(of_node(self._folder.root)):
            await asyncio.sleep(pause)
        for status in self._folder.statuses()[-REMEMBERED:]:
            self._statuses[status.ref.uid] = buried(status, proven=True) if live(status) else status
            try:
                self._folder.keep(self._statuses[status.ref.uid])
            except OSError as error:
                _log.error("status of task %s is not written down: %s", status.ref.uid, error)
        self._children.watch()
        self._server = await asyncio.start_unix_server(
            self._serve, sock=listen(self._folder.socket), limit=LONGEST_LINE
        )

    async def close(self, *, grace_s: float) -> None:
        """End all tasks with a grace and stop listening."""
        self._closing = True
        for task in self._tasks.values():
            task.delete(grace_s=grace_s, by=LossCause.NODE_LOST)
        if self._runs:
            await asyncio.wait(self._runs)
        if self._server is not None:
            self._server.close()
        for writer in self._watchers:
            writer.close()

    async def end_at_once(self) -> None:
        """Kill everything on the node: who started it is dead."""
        self._closing = True
        for task in self._tasks.values():
            task.delete(grace_s=0, by=LossCause.NODE_LOST)
        for pause in sweep(of_node(self._folder.root), kept=self._children.pids):
            await asyncio.sleep(pause)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                request = decode_request(line)
                writer.write(encode(request if isinstance(request, Refused) else self._answer(request)))
                if isinstance(request, WatchTasks):
                    self._watchers.add(writer)
                await writer.drain()
        except (OSError, ValueError) as error:
            _log.info("a connection ended: %s", error)
        finally:
            self._watchers.discard(writer)
            writer.close()

    def _answer(self, request: Request) -> Reply:
        match request:
            case ListTasks() | WatchTasks():
                return Listing(tasks=tuple(self._statuses.values()))
            case CreateTask():
                return self._create(request.launch)
            case DeleteTask():
                if request.task in self._tasks:
                    self._tasks[request.task].delete(grace_s=request.grace_s, by=request.by)
                return Done()
            case KillChild():
                task = self._tasks.get(request.task)
                if task is None or not task.kill(request.child):
                    return Refused(why=f"task {request.task} has no {request.child} on {self._folder.name}")
                return Done()
        assert_never(request)

    def _create(self, launch: TaskLaunch) -> Reply:
        if launch.task.uid in self._statuses:
            return Done()
        if self._closing:
            return Refused(why=f"{self._folder.name} is being stopped", full=True)
        present = [status for status in self._statuses.values() if live(status)]
        if len(present) >= self._slots or any(status.job == launch.job.uid for status in present):
            names = ", ".join(f"{status.ref.name} of job {status.job}" for status in present)
            return Refused(why=f"{self._folder.name} runs {names}", full=True)
        try:
            task = LocalTask(launch, self._folder, children=self._children, commands=self._commands, say=self._changed)
        except Permanent as error:
            return Refused(why=str(error))
        self._tasks[launch.task.uid] = task
        run = asyncio.get_running_loop().create_task(task.run())
        self._runs[run] = launch.task.uid
        run.add_done_callback(self._ended)
        return Done()

    def _ended(self, run: "asyncio.Task[None]") -> None:
        del self._tasks[self._runs.pop(run)]
        run.result()

    def _changed(self, status: TaskStatus) -> None:
        self._statuses[status.ref.uid] = status
        gone = [uid for uid, known in self._statuses.items() if not live(known)]
        for uid in gone[: max(0, len(gone) - REMEMBERED)]:
            del self._statuses[uid]
        for writer in tuple(self._watchers):
            writer.write(encode(Changed(task=status)))
            if writer.transport.get_write_buffer_size() > LATE_WATCHER_BYTES:
                self._watchers.discard(writer)
                writer.close()


def buried(status: TaskStatus, *, proven: bool) -> TaskStatus:
    """Return how a task stands whose node was lost under it."""
    return TaskStatus(
        status.job,
        status.ref,
        TaskPhase.GONE,
        node=status.node,
        by=LossCause.NODE_LOST,
        proven=proven,
        text=f"the supervisor of {status.node} is gone",
        at=datetime.now(UTC),
    )
