"""Runs services: connects each, lets it stand by or be active by lease, and serves their health.

A service's ``app.py`` holds ``def build(settings: Settings) -> App[State]`` and its ``__main__.py`` is
``main(build)``; ``keepstep up`` calls ``run`` with all six.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from keepstep.adapters.store_memory import MemoryStore
from keepstep.adapters.store_nats import NatsStore
from keepstep.contracts.model import Frozen
from keepstep.ports.errors import Fenced, KeepstepError, Permanent, Transient
from keepstep.ports.store import Store
from keepstep.ports.tracer import Tracer
from keepstep.runtime import log, names
from keepstep.runtime.app import App, Context
from keepstep.runtime.bus import Bus
from keepstep.runtime.bus_clock import BusClock, bus_clock
from keepstep.runtime.client import Client
from keepstep.runtime.failsafe import guarded
from keepstep.runtime.http import Health, Stand, answer, serving
from keepstep.runtime.keeper import Keeper, Pulse
from keepstep.runtime.lease import Lease
from keepstep.runtime.ledger import Around, with_ledger
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.pace import Pace
from keepstep.runtime.session import Session, Surroundings
from keepstep.runtime.settings import Settings
from keepstep.runtime.settled import settle
from keepstep.runtime.tasks import end

__all__ = ["App", "Context", "Health", "Pace", "Settings", "main", "run"]

S = TypeVar("S", bound=Frozen)

HANG_UP_S = 10.0
"""For a service to give up its lease and hang up, where the bus answers slowly or not at all."""
GRACE_S = 2.0
"""For a session to end by itself once its lease is lost; then it is cancelled."""


async def run(
    apps: Sequence[App[Any]],
    settings: Settings,
    *,
    stop: asyncio.Event,
    health: Health | None = None,
    metrics: Metrics | None = None,
    pace: Pace | None = None,
) -> None:
    """Run the services in this process until ``stop`` is set: each active by lease, or standing by.

    ``health`` tells the caller where they stand, ``metrics`` what they count and the pool's figures. Outages of bus and
    store are waited out, however long.
    """
    health, shown = health or Health(), metrics is not None or bool(settings.http_port)
    metrics = metrics or Metrics(most_jobs=settings.metrics_jobs)
    for app in apps:
        health.set(app.service, Stand.STARTING)
    async with AsyncExitStack() as stack:
        if settings.http_port:
            answers = serving(settings.http_host, settings.http_port, lambda path: answer(path, health, metrics))
            await stack.enter_async_context(answers)
        keeper = Keeper(settings.nats_url.get_secret_value(), name=f"leases {settings.instance}")
        stack.push_async_callback(keeper.close)
        tracer = open_tracer(settings)
        if tracer is not None:
            stack.push_async_callback(asyncio.to_thread, tracer.close)
        house = House(keeper, health, metrics, pace or Pace(), tracer, shown)
        tasks = [asyncio.create_task(_Seat(app, settings, house).hold()) for app in apps]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        failed = [task for task in tasks if task.done()]
        await end((stopping, *tasks), again_s=HANG_UP_S)
    for task in failed:
        task.result()


def main(build: Callable[[Settings], App[Any]]) -> None:
    """Run one service as a process until SIGTERM or SIGINT; settings come from the environment."""
    log.configure()
    settle()
    settings = Settings()
    app = build(settings)

    async def serve() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await run([app], settings, stop=stop)

    asyncio.run(serve())


def open_store(settings: Settings, client: Client, room: str) -> Store:
    """Return the store that the settings name. Raises Permanent for a name that means nothing."""
    match settings.store.get_secret_value().partition(":")[0]:
        case "nats":
            return NatsStore(client.js, room)
        case "memory":
            return MemoryStore()
        case "redis" | "rediss" | "unix":
            from keepstep.adapters.store_redis import redis_store  # noqa: PLC0415 - an extra of its own

            return redis_store(settings.store.get_secret_value(), room)
        case other:
            raise Permanent(f"KEEPSTEP_STORE begins with {other!r}; use nats, memory, redis://, rediss:// or unix://")


def open_tracer(settings: Settings) -> Tracer | None:
    """Return where spans go, None where nobody collects them. Raises Permanent for an address that is none."""
    if settings.traces_url is None:
        return None
    from keepstep.adapters.traces_otlp import OtlpTracer  # noqa: PLC0415 - an extra of its own, and 0.2 s

    return OtlpTracer(settings.traces_url.get_secret_value())


@dataclass(frozen=True)
class House:
    """What the services of one process share."""

    keeper: Keeper
    health: Health
    metrics: Metrics
    pace: Pace
    tracer: Tracer | None
    shown: bool
    """Whether anybody may ask for the metrics."""


class _Seat(Generic[S]):
    """One service's place in this process, over all its activations."""

    def __init__(self, app: App[S], settings: Settings, house: House) -> None:
        self._app = app
        self._settings = settings
        self._keeper = house.keeper
        self._health = house.health
        self._metrics = house.metrics
        self._pace = house.pace
        self._tracer, self._shown = house.tracer, house.shown
        self._log = log.logger(app.service)

    async def hold(self) -> None:
        """Connect, then stand by and be active in turns, until cancelled."""
        service = self._app.service
        bus = Bus(
            self._settings.nats_url.get_secret_value(), self._settings.pool, name=f"{service} {self._settings.instance}"
        )
        self._metrics.begin(service, bus.link)
        client = await bus.open()
        try:
            async with bus_clock(client.time) as clock:
                around = self._surroundings(bus, client, clock)
                while True:
                    await self._turn(around, clock)
        finally:
            await bus.close()

    async def _turn(self, around: Surroundings, clock: BusClock) -> None:
        """Become active and stay so until that ends."""
        try:
            await around.client.provision(replicas=self._settings.bus_replicas)
            await clock.ask()
        except Transient as error:
            self._log.warning("waiting for the bus", because=str(error))
            await asyncio.sleep(self._pace.first_retry_s)
            return
        self._health.set(self._app.service, Stand.STANDBY)
        lease = Lease(
            await self._keeper.open(),
            around.client.pool,
            self._app.service,
            instance=self._settings.instance,
            pace=self._pace,
            clock=around.clock,
        )
        fence = await self._keeper.call(lease.acquire)
        try:
            ended = await self._be_active(around, lease, fence)
        finally:
            lease.drop()
            self._metrics.stand_by(self._app.service)
            self._health.set(self._app.service, Stand.STARTING)
            if self._keeper.connected:
                await asyncio.shield(self._keeper.call(lease.release))
        self._note_end(ended, fence)
        if not isinstance(ended, Fenced):
            await asyncio.sleep(self._pace.first_retry_s)

    def _note_end(self, ended: Exception, fence: int) -> None:
        if isinstance(ended, KeepstepError):
            self._log.warning("no longer active", fence=fence, because=str(ended))
        else:
            self._metrics.failures.labels(self._app.service, "session").inc()
            self._log.error("no longer active", fence=fence, exc_info=ended)

    async def _be_active(self, around: Surroundings, lease: Lease, fence: int) -> Exception:
        session = Session(self._with_ledger(around, fence), around, fence=fence, held=lambda: lease.held)
        pulse = Pulse(asyncio.get_running_loop(), around.clock)

        def activated() -> None:
            self._metrics.active.labels(self._app.service).set(1)
            self._metrics.activations.labels(self._app.service).inc()
            self._health.set(self._app.service, Stand.ACTIVE)
            self._log.info("active", fence=fence)

        async def keep() -> None:
            try:
                await self._keeper.call(lambda: lease.keep(pulse))
            except Fenced as error:
                session.end(error)
                raise

        keeping = asyncio.create_task(keep())
        active = asyncio.create_task(session.run(activated=activated))
        try:
            await asyncio.wait({keeping, active}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({active}, timeout=GRACE_S)
            with guarded() as outcome:
                return active.result() if active.done() else Fenced("the lease was lost before the service was active")
            return outcome.error or AssertionError("a guarded block returns or raises")
        finally:
            await end((keeping, active))

    def _with_ledger(self, around: Surroundings, fence: int) -> App[S]:
        """Return the app with the pool's ledger beside it, where anybody may ask for figures."""
        if not self._shown and self._tracer is None:
            return self._app
        told = Around(
            around.client,
            around.folds,
            around.clock,
            around.metrics,
            around.log,
            around.pace,
            self._tracer,
            self._shown,
        )
        return with_ledger(self._app, told, fence=fence)

    def _surroundings(self, bus: Bus, client: Client, clock: BusClock) -> Surroundings:
        service, pool = self._app.service, client.pool
        return Surroundings(
            bus=bus,
            client=client,
            folds=open_store(self._settings, client, names.folds_room(pool, service)),
            clock=clock,
            pace=self._pace,
            metrics=self._metrics,
            log=self._log,
        )
