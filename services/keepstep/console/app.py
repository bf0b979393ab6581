"""Puts the console together and runs it beside whatever else the process does."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_named import names_kubernetes
from keepstep.console.access import User
from keepstep.console.api import application
from keepstep.console.audit import Audit
from keepstep.console.board import Board
from keepstep.console.context import Console
from keepstep.console.desk import Desk
from keepstep.console.fleet import fleet_of
from keepstep.console.ground import Ground, OwnNodes
from keepstep.console.hub import Hub
from keepstep.console.limits import Limiter
from keepstep.console.live import Live
from keepstep.console.login.opening import exposed, opened
from keepstep.console.model.pool import PoolModel
from keepstep.console.public_codes import known
from keepstep.console.serve import served
from keepstep.console.settings import ConsoleSettings
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Permanent
from keepstep.runtime.bus_clock import bus_clock
from keepstep.runtime.client import Client
from keepstep.runtime.http import Answer


@asynccontextmanager
async def running(
    settings: ConsoleSettings, *, user: User | None = None, beside: Callable[[str], Answer] | None = None
) -> AsyncIterator[str]:
    """Run the console for the block; yields its address. Raises Permanent for a port or place it cannot have.

    ``user`` is who asks where nobody logs in, ``beside`` answers for the services that share the process.
    """
    why_not = None if settings.on_loopback else exposed(settings, settings.console_host)
    if why_not is not None:
        raise Permanent(why_not)
    login = opened(settings, SystemClock().now)
    client = await Client.open(settings.nats_url.get_secret_value(), settings.pool, name=f"console {settings.instance}")
    try:
        async with bus_clock(client.time) as clock:
            console = built(settings, client, clock, beside=beside)
            app = application(console, login=login)
            if user is not None:
                app.state.local_user = user
            async with console.live.running(), console.audit.running(client.say), _served(app, settings) as address:
                yield address
    finally:
        await client.close()


@asynccontextmanager
async def _served(app: FastAPI, settings: ConsoleSettings) -> AsyncIterator[str]:
    async with served(app, settings.console_host, settings.console_port) as address:
        try:
            yield address
        finally:
            app.state.console.hub.close()  # before the server waits for its streams


def built(
    settings: ConsoleSettings, client: Client, clock: Clock, *, beside: Callable[[str], Answer] | None = None
) -> Console:
    """Return a console over an open connection, which follows nothing yet. Raises Permanent.

    ``clock`` is the bus's: what is shown is as old as the stream says, on whatever machine it is shown.
    """
    model, hub = PoolModel(settings.pool), Hub(settings.console_streams)
    board = Board(model)
    return Console(
        settings=settings,
        board=board,
        live=Live(
            client, model, hub, now=clock.now, fleet=fleet_of(settings.cluster), patience_s=settings.console_patience_s
        ),
        hub=hub,
        desk=Desk(client, board, clock.now, _ground(settings), name=settings.instance),
        limiter=Limiter(settings.console_queries),
        audit=Audit(settings.pool, clock.now),
        codes=known(settings.console_fault_codes),
        now=clock.now,
        beside=beside,
    )


def _ground(settings: ConsoleSettings) -> Ground:
    """Return what jobs of the pool are made on."""
    if not names_kubernetes(settings.cluster):
        return OwnNodes()
    from keepstep.console.objects import OnObjects  # noqa: PLC0415 - 0.2 s that a console of own nodes does not need

    return OnObjects(settings.creates_in)
