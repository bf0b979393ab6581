"""A local node for tests, and eyes and ears for the processes that run on it."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.adapters.local_nodes import LocalNodes
from keepstep.adapters.local_task import Commands
from keepstep.contracts.ids import TaskUid
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import TaskStatus
from tests.adapters.cluster_tools import GROUP, LIMIT_S, NOWHERE, watching

SLEEP = ("sleep", "1000")
"""The least that a launcher or an agent can do."""


class Mouth:
    """A pipe with a name, into which the processes of a test say their pids."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._rest = b""

    async def pid(self) -> int:
        """Return the next pid that is said."""
        async with asyncio.timeout(LIMIT_S):
            while b"\n" not in self._rest:
                await readable(self._end)
                self._rest += os.read(self._end, 1024)
        line, self._rest = self._rest.split(b"\n", 1)
        return int(line)

    def close(self) -> None:
        os.close(self._end)

    def says(self, then: str = "exec sleep 1000") -> str:
        """Return a shell script that says its pid and goes on."""
        return f"echo $$ > {self.path}; {then}"


async def readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def dead(pid: int) -> None:
    """Wait until a process has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        async with asyncio.timeout(LIMIT_S):
            await readable(descriptor)
    finally:
        os.close(descriptor)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Bench:
    """A cluster of one node whose tasks run what the test says."""

    def __init__(self, folder: Path, commands: Commands) -> None:
        self.folder = folder
        self.nodes = LocalNodes(folder, commands=commands, env={"KEEPSTEP_NATS_URL": "nats://token@bus"}, grace_s=1)
        self.supervisor = self.nodes.start("n1", GROUP)
        self.node = self.nodes.folder("n1")
        self.cluster = LocalCluster(folder)

    async def run(self, job: list[TaskLaunch]) -> TaskUid:
        await self.cluster.create(job, avoid=NOWHERE)
        return job[0].task.uid

    async def end_of(self, uid: TaskUid) -> TaskStatus:
        async with watching(self.cluster) as watcher:
            return (await watcher.until_gone([uid]))[uid]

    async def task(self) -> TaskStatus:
        (status,) = await self.cluster.tasks()
        return status


Start = Callable[..., Bench]
"""Starts a bench with these commands as launcher and agent."""
