"""A connection to the bus that may come late, since watching begins without it, and that others take over from."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from keepstep.agent.proof import Proof
from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.telemetry import Heartbeat
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.errors import Transient
from keepstep.runtime.address import parse
from keepstep.runtime.client import Client
from keepstep.runtime.login import Login
from keepstep.runtime.rights_of_pods import RIGHTS_LAST, Caller
from keepstep.runtime.tasks import end

T = TypeVar("T")

AGAIN_S = 1.0
"""Before a connection that the bus ended is made anew: each costs the gate two questions to the API server."""

_log = logging.getLogger(__name__)


class LateBus:
    """A Bus whose connection is made beside everything else, and made anew when it is over or its rights are due.

    A new one is there before the old one goes, so that whoever cannot get new rights keeps what he has.
    """

    def __init__(
        self,
        opening: Callable[[], Awaitable[Client]],
        proof: Proof | None = None,
        *,
        ask_anew: Callable[[], timedelta] = lambda: renewal_of(random.random()),  # noqa: S311 - apart, not secret
    ) -> None:
        """``ask_anew`` tells how long after each time that rights were got by the proof they are asked for again."""
        self._opening, self._proof, self._ask_anew = opening, proof, ask_anew
        self._client: Client | None = None
        self._turn = asyncio.Event()
        """Set once another connection has taken over."""
        self._renewal = asyncio.Event()
        self._granted: TaskUid | None = None

    async def connect(self) -> None:
        """Connect, however long that takes, and stay so for ever."""
        while True:
            self._renewal.clear()
            client = await self._opening()
            former, self._client = self._client, client
            turned, self._turn = self._turn, asyncio.Event()
            turned.set()
            _log.info("event=connected pool=%s", client.pool)
            if former is not None:
                await former.close()
            due = [client.link.closed.wait(), self._renewal.wait()]
            await first_of(*due, *(() if self._proof is None else (self._proof.changed(), self._rights_age())))
            if client.link.closed.is_set():
                await asyncio.sleep(AGAIN_S)  # whoever is let in and put out at once would knock without end

    @property
    def connected(self) -> bool:
        """Whether the bus can be reached now."""
        return self._client is not None and self._client.telemetry.connected

    async def say(self, message: Message) -> None:
        """Return when the stream has the message."""
        while True:
            client, turn = await self._connected()
            if await first_of(client.say(message), turn.wait()) == 0:
                return

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Send a heartbeat, or drop it while cut off."""
        if self._client is not None:
            await self._client.telemetry.beat(heartbeat)

    async def time(self) -> datetime:
        """Return the bus's time of day. Raises Transient while cut off."""
        client, _ = await self._connected()
        return await client.time()

    async def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the job's plan head now and at every change, for ever."""
        async for head in self._each(lambda client: client.plans.watch(job)):
            yield head

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return what the plan has for the task; raises Transient while cut off."""
        if self._client is None:
            raise Transient("the bus was not reached yet")
        return await self._client.plans.entry(job, task)

    async def bindings(self, pod: str) -> AsyncIterator[TaskLaunch]:
        """Yield the task of a pod as soon as it has one, and each later one, for ever.

        Rights are those of the task that the pod was when it connected; so each is told once they are its own.
        """
        async for launch in self._each(lambda client: client.bindings.watch(pod)):
            if self._proof is not None and launch.task.uid != self._granted:
                self._granted = launch.task.uid
                turn = self._turn
                self._renewal.set()
                await turn.wait()
            yield launch

    async def _rights_age(self) -> None:
        await asyncio.sleep(self._ask_anew().total_seconds())  # the bus tells nobody when his rights end

    async def _each(self, watch: Callable[[Client], AsyncIterator[T]]) -> AsyncIterator[T]:
        """Yield what a watch yields, on one connection after the other."""
        while True:
            client, turn = await self._connected()
            found: asyncio.Queue[T] = asyncio.Queue(1)
            watching = asyncio.create_task(_pour(watch(client), found))
            turning = asyncio.create_task(turn.wait())
            try:
                async for one in _until(found, watching, turning):
                    yield one
            finally:
                await end((watching, turning))

    async def _connected(self) -> tuple[Client, asyncio.Event]:
        while self._client is None:
            await self._turn.wait()
        return self._client, self._turn


def renewal_of(share: float) -> timedelta:
    """Return when to ask for rights anew, by a number of 0 to 1: from two to three fifths of their time on.

    Ten thousand agents that started together ask in the course of two minutes, 83 a second, and later ever more evenly.
    """
    return RIGHTS_LAST * (2 + share) / 5


def late_bus(url: SecretStr, caller: Caller, token_file: Path | None, *, name: str) -> LateBus:
    """Return the bus as an agent sees it: by its pod's token, unless the address has credentials."""
    there = url.get_secret_value()
    if token_file is None or parse(there).credentials:
        return LateBus(lambda: Client.open(there, caller.pool, name=name))
    proof = Proof(token_file)
    return LateBus(lambda: Client.knock(there, caller.pool, name=name, login=Login.of(caller, proof)), proof)


async def first_of(*works: Coroutine[object, object, object]) -> int:
    """Return which of the works ended first, and end the others. Raises what it raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        number = next(number for number, task in enumerate(tasks) if task.done())
        tasks[number].result()
        return number
    finally:
        await end(tasks)


async def _pour(source: AsyncIterator[T], found: asyncio.Queue[T]) -> None:
    async for one in source:
        await found.put(one)


async def _until(
    found: asyncio.Queue[T], watching: asyncio.Task[None], turning: "asyncio.Task[object]"
) -> AsyncIterator[T]:
    """Yield what is found until the turn. Raises what the watch raised."""
    while True:
        getting = asyncio.create_task(found.get())
        try:
            await asyncio.wait({getting, watching, turning}, return_when=asyncio.FIRST_COMPLETED)
            if not getting.done():
                if watching.done():
                    watching.result()
                return
            one = getting.result()
        finally:
            await end((getting,))
        yield one
