"""The embedded stack: a NATS server and the six services in this process, for ``keepstep up`` and private runs."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from keepstep.cli import console, places
from keepstep.cli.connect import connected
from keepstep.cli.errors import Failed
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import JobRef
from keepstep.ports.errors import KeepstepError
from keepstep.runtime import log
from keepstep.runtime.http import answer
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.nats_server import NatsServer
from keepstep.runtime.service import App, Health, run
from keepstep.runtime.settings import Settings
from keepstep.runtime.tasks import end

STOP_S = 5.0


def builds() -> tuple[Callable[[Settings], App[Any]], ...]:
    """Return the ``build`` of each of the six services; imported here so that other commands start without them."""
    return tuple(import_module(f"keepstep.{service.replace('-', '_')}.app").build for service in Service)


class Stack:
    """A running embedded stack; ``broken`` ends when the services do, which they should not."""

    def __init__(
        self,
        address: places.StackAddress,
        services: "asyncio.Task[None]",
        health: Health,
        console: "asyncio.Future[str]",
    ) -> None:
        self.address = address
        self.broken = services
        self.console = console
        """Where the console is served, once it is; never done where its libraries are not installed."""
        self._health = health

    async def ready(self) -> None:
        """Return once every service is active or stands by, or they have ended."""
        waiting = asyncio.ensure_future(self._health.wait_ready())
        await asyncio.wait({waiting, self.broken}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()


@asynccontextmanager
async def embedded(folder: Path, *, pool: Pool, job: JobRef | None = None, port: int = 0) -> AsyncIterator[Stack]:
    """Run the stack in ``folder`` for the block; raises Failed if another one runs there or the bus is not reached."""
    async with AsyncExitStack() as room:
        room.enter_context(places.hold(folder))
        log.configure(out=room.enter_context(log.appended(folder / "services.log")))
        url = await _bus(folder, room, private=job is not None)
        address = places.StackAddress(pid=os.getpid(), url=url, pool=pool, folder=folder, job=job)
        address.cluster.mkdir(parents=True, exist_ok=True)
        there = console.is_installed()
        settings = Settings(
            nats_url=url, pool=pool, cluster=f"local:{address.cluster}", data=folder, http_port=0 if there else port
        )
        if job is not None:
            # Nobody takes up a private run once this process is gone, so its folds need no disk; each decision on
            # the way to a recovery would wait 4 ms for it.
            settings = settings.model_copy(update={"store": SecretStr("memory")})
        async with connected(address) as client:
            await client.provision()
        stop, health, metrics = asyncio.Event(), Health(), Metrics(most_jobs=settings.metrics_jobs)
        apps = [build(settings) for build in builds()]
        services = asyncio.create_task(run(apps, settings, stop=stop, health=health, metrics=metrics))
        room.push_async_callback(_end, services, stop)
        places.announce(address)
        served: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if there:
            served.add_done_callback(lambda done: _announce(address, done))
            await room.enter_async_context(
                _beside(console.keep(settings, port, lambda path: answer(path, health, metrics), served))
            )
        yield Stack(address, services, health, served)


def _announce(address: places.StackAddress, served: "asyncio.Future[str]") -> None:
    """Let other commands find the console too."""
    if not served.cancelled() and served.exception() is None:
        places.announce(address.model_copy(update={"console": served.result()}))


@asynccontextmanager
async def _beside(work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        await end((task,))


async def _bus(folder: Path, room: AsyncExitStack, *, private: bool) -> SecretStr:
    """Return the bus that KEEPSTEP_NATS_URL names, or start one of our own.

    That of a private run need not outlive the machine: its job, its nodes and this process do not either.
    """
    if named := os.environ.get("KEEPSTEP_NATS_URL"):
        return SecretStr(named)
    server = NatsServer(folder / "nats", outlives_machine=not private)
    try:
        url = await server.start()
    except KeepstepError as error:
        raise Failed(str(error)) from error
    room.push_async_callback(server.stop)
    return url


async def _end(services: "asyncio.Task[None]", stop: asyncio.Event) -> None:
    stop.set()
    await asyncio.wait([services], timeout=STOP_S)
    services.cancel()
    await asyncio.wait([services])
