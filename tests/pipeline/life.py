"""One instance of one service on the outside in memory: a real session, struck at one of its steps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import structlog

from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Fenced
from keepstep.runtime.bus import Place, Taker
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.pace import Pace
from keepstep.runtime.session import Session, Surroundings
from tests.pipeline.hands import POOL, Folder, Plans, app_of
from tests.pipeline.loop import LoopClock
from tests.pipeline.outside import RESTART_S, Blow, Outside
from tests.pipeline.stream import Consumer

METRICS = Metrics()
QUIET = structlog.wrap_logger(structlog.PrintLogger(), wrapper_class=structlog.make_filtering_bound_logger(50))
FROZEN_S = 1.0
"""How long a successor is active before its frozen predecessor moves again."""
ZOMBIE_S = 0.5
"""How long that one acts before it notices that its lease is gone."""


class Life:
    """One instance of one service from its start to its end."""

    def __init__(self, outside: Outside, service: Service) -> None:
        outside.fences += 1
        self.outside, self.service, self.fence = outside, service, outside.fences
        self.down_s = RESTART_S
        self._struck = asyncio.Event()
        self._blow: Blow | None = None
        self._thawed = asyncio.Event()
        self.zombie: asyncio.Task[None] | None = None
        """What goes on beside the successor."""

    async def run(self) -> None:
        """Be active until struck; a frozen one returns, too, and goes on later beside its successor."""
        session = Session(app_of(self), self._surroundings(), fence=self.fence, held=lambda: True)
        active = asyncio.create_task(session.run(activated=lambda: None))
        struck = asyncio.create_task(self._struck.wait())
        try:
            await asyncio.wait({active, struck}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            active.cancel()
            await asyncio.gather(active, return_exceptions=True)
            raise
        finally:
            struck.cancel()
        if self._blow is Blow.FREEZE:
            self.zombie = asyncio.create_task(self._haunt(session, active))
            return
        if self._blow is None:
            raise AssertionError(f"{self.service} ended by itself: {active.result()!r}")
        active.cancel()
        await asyncio.gather(active, return_exceptions=True)

    async def _haunt(self, session: Session[Any], active: "asyncio.Task[Any]") -> None:
        try:
            await asyncio.sleep(self.down_s + FROZEN_S)
            self._thawed.set()
            await asyncio.sleep(ZOMBIE_S)
            session.end(Fenced("the lease ran out"))
            await asyncio.wait({active})
        finally:
            active.cancel()
            await asyncio.gather(active, return_exceptions=True)

    async def step(self, what: str) -> None:
        """Count one step towards the outside, before it is done; the place where blows fall."""
        if self._blow is Blow.FREEZE:
            await self._thawed.wait()
        elif self._blow is not None:
            await asyncio.Event().wait()
        strike = self.outside.count(self.service, what)
        if strike is None:
            return
        if strike.blow in (Blow.WIPE, Blow.KILL_AND_WIPE):
            self.outside.stores[self.service] = MemoryStore()
        if strike.blow is Blow.WIPE:
            return
        self._blow, self.down_s = strike.blow, strike.down_s
        self._struck.set()
        await self.step(what)

    def _surroundings(self) -> Surroundings:
        client = SimpleNamespace(
            pool=POOL,
            js=None,
            link=SimpleNamespace(recoveries=0, next_recovery=_never),
            plans=Plans(self),
            bindings=None,
            telemetry=self.outside.telemetry,
            say=self.say,
            fill=_empty,
            last_sequence=self.last_sequence,
            dead_letters=None,
        )
        return Surroundings(
            bus=self,  # type: ignore[arg-type]  # place, waiting and consuming are all that a session asks of it
            client=client,  # type: ignore[arg-type]  # a stand-in for the bus, which is a list here
            folds=Folder(self),
            clock=LoopClock(),
            pace=Pace(),
            metrics=METRICS,
            log=QUIET,
        )

    async def say(self, message: Message) -> None:
        """Publish."""
        name = type(message).__name__
        await self.step(f"say {name}")
        self.outside.stream.publish(message)

    async def last_sequence(self) -> int:
        """Return how many messages the stream has."""
        return len(self.outside.stream.stored)

    async def place(self, _client: object, service: Service) -> Place:
        """Return where the service's consumer stands."""
        known = self.outside.stream.consumers.get(service)
        return Place(0 if known is None else known.floor, "s")

    async def waiting(self, _client: object, service: Service, *, fence: int) -> int:
        """Return how many messages are not answered yet by the instance with this number."""
        known = self.outside.stream.consumers.get(service)
        floor = known.floor if known is not None and known.fence == fence else 0
        return len(self.outside.stream.stored) - floor

    @asynccontextmanager
    async def consuming(
        self, _client: object, service: Service, *, fence: int, after: int, take: Taker, **_pace: Pace
    ) -> AsyncIterator[None]:
        """Deliver what comes after a sequence; the predecessor's consumer is deleted."""
        known = self.outside.stream.consumers.get(service)
        if known is not None:
            known.deleted = True
        consumer = Consumer(fence, after + 1, floor=after)
        self.outside.stream.consumers[service] = consumer
        delivering = asyncio.create_task(self._deliver(consumer, take))
        try:
            yield
        finally:
            delivering.cancel()

    async def _deliver(self, consumer: Consumer, take: Taker) -> None:
        async for stored in self.outside.stream.deliver(consumer):
            slip = Slip(self, consumer, stored.sequence)
            await take(stored, slip)
            slip.heard = True


@dataclass
class Slip:
    """The receipt of one delivery."""

    life: Life
    consumer: Consumer
    sequence: int
    heard: bool = False
    """It was not acknowledged at once, as what is for others is: nothing can go wrong with that."""

    async def ack(self) -> None:
        if self.heard:
            await self.life.step("acknowledge")
        self.consumer.ack(self.sequence)

    async def nak(self, delay: float | None = None) -> None:
        self.consumer.refuse(self.sequence, delay or 0.0)
        self.life.outside.stream.changed.ring()

    async def term(self) -> None:
        raise AssertionError(f"{self.sequence} was given up")


async def _never(_seen: int) -> None:
    await asyncio.Event().wait()


async def _empty() -> float:
    return 0.0
