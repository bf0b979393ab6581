"""One task on a local node: its launcher, its agent, and the proof of its end."""

import asyncio
import dataclasses
import logging
import os
import signal
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from keepstep.adapters.local_children import ChildProcess, Children, describe, python
from keepstep.adapters.local_files import NodeFolder
from keepstep.adapters.local_processes import of_task, sweep
from keepstep.adapters.local_sight import NODE_MARK, TASK_MARK
from keepstep.adapters.local_wire import Child
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import TaskPhase, TaskStatus

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.2, 5.0
STEADY_S = 10.0
"""An agent that ran this long is sound; its next death is a first one again."""
PROOF_LIMIT_S = 2.0
"""After this long without proof the task is said to be gone, and its proof is said later."""
LAST_LINE_BYTES = 300
TASK_UID = "KEEPSTEP_TASK_UID"

_log = logging.getLogger(__name__)


class Commands(Frozen):
    """What a supervisor starts for a task; ``{dir}`` stands for the task's folder."""

    launcher: tuple[str, ...] = python("keepstep.trainer.launch", "--dir", "{dir}")
    agent: tuple[str, ...] = python("keepstep.agent", "--dir", "{dir}")
    agent_grace_s: float = 2.0
    """Time for an agent to say its last messages after its launcher is gone, and again after SIGTERM."""


class LocalTask:
    """Runs one incarnation of a task from its start to the proof of its end."""

    def __init__(
        self,
        launch: TaskLaunch,
        folder: NodeFolder,
        *,
        children: Children,
        commands: Commands,
        say: Callable[[TaskStatus], None],
    ) -> None:
        self.launch = launch
        self._folder, self._children, self._commands, self._say = folder, children, commands, say
        self._dir = folder.prepare(launch)
        self._launcher: ChildProcess | None = None
        self._agent: ChildProcess | None = None
        self._by: LossCause | None = None
        self._ending = asyncio.Event()
        self._kill_timer: asyncio.TimerHandle | None = None
        self._status = TaskStatus(launch.job.uid, launch.task, TaskPhase.PENDING, node=folder.name)
        self._tell()

    async def run(self) -> None:
        """Start launcher and agent, keep the agent alive, and end when no process of the task is left."""
        if self._by is not None:
            self._tell(TaskPhase.GONE, by=self._by, proven=True, text="deleted before it started")
            return
        try:
            self._launcher = self._spawn(self._commands.launcher, "launcher.log", self._launcher_env())
        except OSError as error:
            self._ending.set()
            self._tell(TaskPhase.GONE, by=LossCause.UNKNOWN, proven=True, text=f"launcher does not start: {error}")
            return
        self._tell(TaskPhase.RUNNING)
        keeper = asyncio.create_task(self._keep_agent())
        code = await self._launcher.exited
        if self._kill_timer is not None:
            self._kill_timer.cancel()
        self._ending.set()
        await self._prove(code)
        await self._end_agent()
        await keeper

    def delete(self, *, grace_s: float, by: LossCause) -> None:
        """End the task: SIGTERM to the launcher, SIGKILL after the grace; first cause and shortest grace stand."""
        if self._launcher is not None and self._launcher.exited.done():
            return
        self._by = self._by or by
        if self._launcher is None:
            return
        self._launcher.send(signal.SIGTERM)
        loop = asyncio.get_running_loop()
        due = loop.time() + grace_s
        if self._kill_timer is not None:
            due = min(due, self._kill_timer.when())
            self._kill_timer.cancel()
        self._kill_timer = loop.call_at(due, self._launcher.send, signal.SIGKILL)

    def kill(self, child: Child) -> bool:
        """Send SIGKILL to one of the task's processes; return whether there was one."""
        target = self._launcher if child is Child.LAUNCHER else self._agent
        if target is None or target.exited.done():
            return False
        target.send(signal.SIGKILL)
        return True

    async def _prove(self, code: int) -> None:
        by = self._by or (LossCause.LAUNCHER_EXITED if code != 0 else None)
        text = f"launcher {describe(code)}" + (_last_line(self._dir / "launcher.log") if by and code > 0 else "")
        loop = asyncio.get_running_loop()
        unproven = loop.call_later(PROOF_LIMIT_S, lambda: self._tell(TaskPhase.GONE, by=by, text=text))
        match = of_task(self._dir, supervisor=os.getpid(), kept=self._children.pids)
        for pause in sweep(match, kept=self._children.pids):
            await asyncio.sleep(pause)
        unproven.cancel()
        self._tell(TaskPhase.GONE, by=by, proven=True, text=text)

    async def _keep_agent(self) -> None:
        loop, pause = asyncio.get_running_loop(), FIRST_BACKOFF_S
        while not self._ending.is_set():
            started = loop.time()
            try:
                self._folder.prepare(self.launch)  # whatever befell what the agent reads first
                self._agent = self._spawn(self._commands.agent, "agent.log", self._agent_env())
                end = describe(await self._agent.exited)
            except OSError as error:
                end = f"does not start: {error}"
            if loop.time() - started >= STEADY_S:
                pause = FIRST_BACKOFF_S
            if not self._ending.is_set():
                _log.warning("agent of task %s %s; starts again in %.1f s", self.launch.task.uid, end, pause)
                await self._ends_within(pause)
                pause = min(pause * 2, LONGEST_BACKOFF_S)

    async def _end_agent(self) -> None:
        agent = self._agent
        grace_s = self._commands.agent_grace_s
        node_stops = self._by is LossCause.NODE_LOST
        if agent is None or await agent.ends_within(0 if node_stops else grace_s):
            return
        agent.send(signal.SIGTERM)
        if not await agent.ends_within(grace_s):
            agent.send(signal.SIGKILL)

    async def _ends_within(self, limit_s: float) -> None:
        ending = asyncio.ensure_future(self._ending.wait())
        await asyncio.wait([ending], timeout=limit_s)
        ending.cancel()

    def _spawn(self, command: tuple[str, ...], log: str, env: Mapping[str, str]) -> ChildProcess:
        argv = [part.replace("{dir}", str(self._dir)) for part in command]
        return self._children.spawn(argv, cwd=self._dir, env=env, log=self._dir / log)

    def _agent_env(self) -> dict[str, str]:
        """Return the agent's environment: without the task's mark, since the agent is not part of the training."""
        inherited = {name: value for name, value in os.environ.items() if name not in (TASK_MARK, TASK_UID)}
        return inherited | {"KEEPSTEP_NODE": self._folder.name, NODE_MARK: str(self._folder.root)}

    def _launcher_env(self) -> dict[str, str]:
        """Return the launcher's environment: marked, and without the bus, whose address carries a token."""
        marks = {TASK_MARK: str(self._dir), TASK_UID: self.launch.task.uid}
        return {name: value for name, value in self._agent_env().items() if name != "KEEPSTEP_NATS_URL"} | marks

    def _tell(
        self, phase: TaskPhase = TaskPhase.PENDING, *, by: LossCause | None = None, proven: bool = False, text: str = ""
    ) -> None:
        self._status = dataclasses.replace(
            self._status, phase=phase, by=by, proven=proven, text=text, at=datetime.now(UTC)
        )
        try:
            self._folder.keep(self._status)
        except OSError as error:
            _log.error("status of task %s is not written down: %s", self.launch.task.uid, error)
        _log.info("task %s is %s on %s: %s", self.launch.task.uid, phase, self._folder.name, text or "as asked")
        self._say(self._status)


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LAST_LINE_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
    except FileNotFoundError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1]}" if said else ""
