"""One activation of one service: from the lease to the moment it is lost, the bus comes back, or the process stops.

Order matters: the folds are loaded and brought up to what was acknowledged, then deliveries start after that, then
what the folds want is taken up again. A recovery of the connection ends the session, because deliveries may have been
lost on the way; the next one starts from the acknowledged floor like a successor would.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from structlog.typing import FilteringBoundLogger

from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef
from keepstep.core.decision import Effect
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Fenced, KeepstepError, Permanent, Transient
from keepstep.ports.store import Store
from keepstep.runtime.advance import Wants, kinds_of
from keepstep.runtime.app import App, Context
from keepstep.runtime.arrival import Receipt
from keepstep.runtime.burial import Burial
from keepstep.runtime.bus import Bus, Gaps, Taker
from keepstep.runtime.client import Client
from keepstep.runtime.deadlines import Deadlines
from keepstep.runtime.effects import Effects
from keepstep.runtime.failsafe import guarded
from keepstep.runtime.folds import Folds
from keepstep.runtime.held import stepwise
from keepstep.runtime.lanes import Lanes
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.pace import Pace
from keepstep.runtime.rebuild import Minded, Rebuild
from keepstep.runtime.stage import Stage
from keepstep.runtime.tail import Stored
from keepstep.runtime.tasks import end
from keepstep.runtime.ways import Ways

S = TypeVar("S", bound=Frozen)

ALERT_FILL = 0.8


@dataclass(frozen=True)
class Surroundings:
    """What a session is given by its process: connection, store, and how to tell what happens."""

    bus: Bus
    client: Client
    folds: Store
    clock: Clock
    pace: Pace
    metrics: Metrics
    log: FilteringBoundLogger


class Session(Generic[S]):
    """One activation under one fencing number."""

    def __init__(self, app: App[S], around: Surroundings, *, fence: int, held: Callable[[], bool]) -> None:
        """``held`` tells whether the lease cannot have run out yet; nothing is done to the world without it."""
        self._app = app
        self._around = around
        self._fence = fence
        self._held = held
        self._burial = Burial(
            app.service, around.client, self._say, clock=around.clock, pace=around.pace, log=around.log
        )
        self._over: asyncio.Future[KeepstepError] = asyncio.get_running_loop().create_future()

    async def run(self, *, activated: Callable[[], None]) -> KeepstepError:
        """Serve until something ends the session and return what; raises Transient or Fenced if it cannot start."""
        around = self._around
        recoveries = around.client.link.recoveries
        place = await around.bus.place(around.client, self._app.service)
        folds, stage, context = self._prepare(place.stream)
        async with self._working(stage, folds) as (lanes, minded):
            rebuild = Rebuild(stage, folds, metrics=around.metrics, log=around.log)
            first = await folds.load(end=around.client.last_sequence)
            await rebuild.run(around.client, first=first, last=place.floor)
            await folds.mark(place.floor)
            take = self._checked(lanes.take)
            async with around.bus.consuming(
                around.client,
                self._app.service,
                fence=self._fence,
                after=place.floor,
                take=take,
                pace=around.pace,
                kinds=kinds_of(stage),
            ):
                rebuild.resume(minded)
                activated()
                return await self._serve(lanes, folds, context, recoveries)

    def end(self, error: Exception) -> None:
        """End the session for this reason; the first one counts."""
        if not self._over.done():
            self._over.set_result(error if isinstance(error, KeepstepError) else Transient(repr(error)))

    def _prepare(self, stream: str) -> tuple[Folds[S], Stage[S], Context[S]]:
        around = self._around
        held: list[Folds[S]] = []
        context = Context[S](
            pool=around.client.pool,
            clock=around.clock,
            plans=around.client.plans,
            telemetry=around.client.telemetry,
            say=self._say,
            folds=lambda: held[0].states,
            bindings=around.client.bindings,
            bury=self._burial.bury_message,
            metrics=around.metrics,
        )
        stage = self._app.stage(context)
        held.append(Folds(around.folds, stage.state, fence=self._fence, stream=stream))
        return held[0], stage, context

    @asynccontextmanager
    async def _working(self, stage: Stage[S], folds: Folds[S]) -> AsyncIterator[tuple[Lanes[S], Minded]]:
        """Yield the lanes and what minds the folds behind them, effects and deadlines; end all tasks afterwards."""
        around = self._around
        effects = self._effects(stage)
        deadlines = Deadlines(self._app.service, around.client.pool, clock=around.clock, say=self._say)

        def minded(key: str, wants: Wants, job: JobRef | None) -> None:
            deadlines.reconcile(key, wants.deadlines, job=job)
            effects.reconcile(key, wants.effects)

        lanes = Lanes(
            stage,
            folds,
            Ways(say=self._say, bury=self._burial.bury, minded=minded, ended=self.end),
            pace=around.pace,
            clock=around.clock,
            metrics=around.metrics,
            log=around.log,
        )
        try:
            yield lanes, minded
        finally:
            await end([*lanes.close(), *effects.close(), *deadlines.close()])

    def _effects(self, stage: Stage[S]) -> Effects:
        """Return what acts, step by step while the lease is held."""

        async def act(effect: Effect) -> Iterable[Message]:
            return await stage.act(effect)

        return Effects(
            lambda effect: stepwise(act(effect), self._held),
            self._say,
            pace=self._around.pace,
            log=self._around.log,
            noted=self._noted_effect,
        )

    def _checked(self, take: Taker) -> Taker:
        """Return ``take`` with every failure ending the session: FastStream would log it and go on without it."""
        gaps = Gaps()

        async def checked(stored: Stored, receipt: Receipt) -> None:
            if self._over.done():
                return  # it comes again to the next session
            with guarded() as outcome:
                gaps.check(stored)
                await take(stored, receipt)
            if outcome.error is not None:
                self.end(outcome.error)

        return checked

    async def _serve(self, lanes: Lanes[S], folds: Folds[S], context: Context[S], recoveries: int) -> KeepstepError:
        """Run what runs beside the lanes until the session is over."""
        watches = [
            self._watch(lambda: self._recovered(recoveries)),
            self._watch(lambda: self._keep_mark(lanes, folds)),
            *(self._background(task, context) for task in self._app.background),
        ]
        tasks = [asyncio.create_task(watch) for watch in watches]
        try:
            return await self._over
        finally:
            await end(tasks)

    async def _watch(self, watch: Callable[[], Awaitable[None]]) -> None:
        with guarded() as outcome:
            await watch()
        if outcome.error is not None:
            self.end(outcome.error)

    async def _recovered(self, seen: int) -> None:
        await self._around.client.link.next_recovery(seen)
        raise Transient("the connection was lost and is back")

    async def _keep_mark(self, lanes: Lanes[S], folds: Folds[S]) -> None:
        """Mark now and then how far the store is whole, and look how full the stream is."""
        around = self._around
        alerted = False
        while True:
            await asyncio.sleep(around.pace.mark_s)
            try:
                await folds.mark(lanes.floor)
                fill = await around.client.fill()
                waiting = await around.bus.waiting(around.client, self._app.service, fence=self._fence)
            except Fenced:
                raise
            except Transient as error:
                around.log.warning("not marked", because=str(error))
                continue
            around.metrics.stream_fill.set(fill)
            around.metrics.lag.labels(self._app.service).set(waiting)
            if fill >= ALERT_FILL and not alerted:
                around.log.error("stream nearly full", because=f"{fill:.0%} of its bytes are used, alert at 80%")
            alerted = fill >= ALERT_FILL

    async def _background(self, task: Callable[[Context[S]], Awaitable[None]], context: Context[S]) -> None:
        tries = 0
        while True:
            with guarded() as outcome:
                await stepwise(_running(task, context), self._held)
            if outcome.error is None:
                return
            if isinstance(outcome.error, Fenced):
                self.end(outcome.error)
                return
            tries += 1
            wait = self._around.pace.retry_s(tries)
            self._around.metrics.failures.labels(self._app.service, "background").inc()
            self._around.log.error("background failed", exc_info=outcome.error, wait_s=wait)
            await asyncio.sleep(wait)

    async def _say(self, message: Message) -> None:
        """Say it; what never can be said, too large or without a key, goes to the dead letters and stops nobody."""
        try:
            await self._around.client.say(message)
        except Permanent as error:
            self._around.log.error("not said", what=type(message).__name__, because=str(error))
            await self._burial.bury_message(message, str(error))

    def _noted_effect(self, error: Exception | None) -> None:
        service = self._app.service
        if error is None:
            self._around.metrics.effects.labels(service).inc()
        else:
            self._around.metrics.failures.labels(service, "effect").inc()
        if isinstance(error, Fenced):
            self.end(error)


async def _running(task: Callable[[Context[S]], Awaitable[None]], context: Context[S]) -> None:
    await task(context)
