"""What an agent needs of the bus, and a connection that may come late: watching begins without it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Protocol

from keepstep.contracts.ids import JobUid, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.telemetry import Heartbeat
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.errors import Transient
from keepstep.runtime.client import Client

_log = logging.getLogger(__name__)


class Bus(Protocol):
    """Where an agent speaks and hears; no method ends because the bus is away, except ``entry`` (Transient)."""

    @property
    def connected(self) -> bool:
        """Whether the bus can be reached now."""

    async def say(self, message: Message) -> None:
        """Return when the stream has the message; raises Permanent if it never will."""

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Send a heartbeat, or drop it while cut off."""

    def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the job's plan head now and at every change, for ever."""

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return what the plan has for the task; raises Transient while cut off."""


class LateBus:
    """A Bus whose first connection is made beside everything else."""

    def __init__(self, url: str, pool: Pool, *, name: str) -> None:
        self._url = url
        self._pool = pool
        self._name = name
        self._client: Client | None = None
        self._open = asyncio.Event()

    async def connect(self) -> None:
        """Connect, however long that takes."""
        self._client = await Client.open(self._url, self._pool, name=self._name)
        self._open.set()
        _log.info("event=connected pool=%s", self._pool)

    @property
    def connected(self) -> bool:
        """Whether the bus can be reached now."""
        return self._client is not None and self._client.telemetry.connected

    async def say(self, message: Message) -> None:
        """Return when the stream has the message."""
        await (await self._connected()).say(message)

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Send a heartbeat, or drop it while cut off."""
        if self._client is not None:
            await self._client.telemetry.beat(heartbeat)

    async def time(self) -> datetime:
        """Return the bus's time of day. Raises Transient while cut off."""
        return await (await self._connected()).time()

    async def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the job's plan head now and at every change, for ever."""
        async for head in (await self._connected()).plans.watch(job):
            yield head

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return what the plan has for the task; raises Transient while cut off."""
        if self._client is None:
            raise Transient("the bus was not reached yet")
        return await self._client.plans.entry(job, task)

    async def bindings(self, pod: str) -> AsyncIterator[TaskLaunch]:
        """Yield the task of a pod as soon as it has one, and each later one, for ever."""
        async for launch in (await self._connected()).bindings.watch(pod):
            yield launch

    async def _connected(self) -> Client:
        while self._client is None:
            await self._open.wait()
        return self._client


class CutOff:
    """Since when the bus has not answered: the connection is down, or a message waits longer than an answer takes."""

    PATIENCE_S = 5.0
    """An answer takes below 1 ms; a server that restarts is back within a second or two."""

    def __init__(self) -> None:
        self._since: float | None = None

    def lasted_s(self, now: float, *, connected: bool, unanswered_s: float) -> float:
        """Return for how long (seconds) the agent has been cut off at ``now`` (monotonic), 0 when it is not."""
        if connected and unanswered_s < self.PATIENCE_S:
            self._since = None
            return 0.0
        if self._since is None:
            self._since = now - (unanswered_s if connected else 0.0)
        return now - self._since
