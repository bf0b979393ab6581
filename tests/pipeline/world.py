"""Six services on one stream, each of which can be struck at any of its steps towards the outside."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from types import SimpleNamespace
from typing import Any
from unittest import mock

import structlog
from pydantic import SecretStr

from keepstep.adapters.store_memory import MemoryStore
from keepstep.checkpoint_manager.app import checkpoint_stage
from keepstep.checkpoint_manager.core import Checkpoints, Verify, choose
from keepstep.checkpoint_manager.files import trust
from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.policy import NotificationPolicy
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import TaskLaunch
from keepstep.core.decision import Effect
from keepstep.detector.app import build as build_detector
from keepstep.diagnoser.app import build as build_diagnoser
from keepstep.isolator.app import Hand, isolator_stage
from keepstep.isolator.core import Isolations
from keepstep.notifier.app import notifier_stage
from keepstep.notifier.core import Notices
from keepstep.ports.cluster import CordonMark
from keepstep.ports.errors import Fenced
from keepstep.ports.sink import Notice, Sink
from keepstep.ports.store import Versioned
from keepstep.runtime.app import App, Context
from keepstep.runtime.bus import Place, Taker
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.pace import Pace
from keepstep.runtime.session import Session, Surroundings
from keepstep.runtime.settings import Settings
from keepstep.runtime.stage import Stage
from keepstep.scheduler_adapter.app import assemble
from keepstep.scheduler_adapter.settings import Settings as SchedulerSettings
from tests.pipeline.cluster import MemoryCluster
from tests.pipeline.loop import LoopClock
from tests.pipeline.stream import Consumer, MemoryBoard, MemoryStream, MemoryTelemetry

POOL = Pool("p")
METRICS = Metrics()
QUIET = structlog.wrap_logger(structlog.PrintLogger(), wrapper_class=structlog.make_filtering_bound_logger(50))
RESTART_S = 0.3
"""From a death to the successor's first look."""
FROZEN_S = 1.0
"""How long a successor is active before its frozen predecessor moves again."""
ZOMBIE_S = 0.5
"""How long that one acts before it notices that its lease is gone."""


class Blow(StrEnum):
    """What happens to a service at the chosen step."""

    KILL = "kill"
    KILL_AND_WIPE = "kill-and-wipe"
    """Killed, and its store is empty afterwards."""
    WIPE = "wipe"
    """Its store is emptied while it runs."""
    FREEZE = "freeze"
    """It stands still, is replaced, and then moves again."""


@dataclass(frozen=True)
class Strike:
    """One blow to one service at its nth step towards the outside, counted over all its lives."""

    service: Service
    step: int
    blow: Blow
    down_s: float = RESTART_S


@dataclass
class World:
    """Everything outside the services, which outlives them."""

    strikes: list[Strike] = field(default_factory=list)
    remembers: bool = True
    nodes: tuple[str, ...] = ("n1", "n2", "n3")
    steps: dict[Service, list[str]] = field(default_factory=lambda: {service: [] for service in Service})
    """The steps towards the outside that each service made."""
    notices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stream = MemoryStream(remembers=self.remembers)
        self.board = MemoryBoard()
        self.telemetry = MemoryTelemetry()
        self.cluster = MemoryCluster(self.stream, self.board, self.telemetry, *self.nodes, clock=LoopClock())
        self.stores = {service: MemoryStore() for service in Service}
        self.fences = 0
        self.zombies: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Run all six services, each started again when it ends."""
        with mock.patch("keepstep.runtime.session.read", self._read):
            seats = [asyncio.create_task(self._seat(service)) for service in Service]
            try:
                yield
            finally:
                agents = [work for agent in self.cluster.agents.values() for work in agent.work]
                for task in (*seats, *self.zombies, *agents):
                    task.cancel()
                ended = await asyncio.gather(*seats, *self.zombies, return_exceptions=True)
        for result in ended:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result
        assert self.cluster.failures == []

    async def until(self, condition: Callable[[], bool], *, within: float = 120) -> None:
        """Return once the condition holds; fails when simulated time is over or an agent found something wrong."""
        async with asyncio.timeout(within):
            while not condition():
                assert self.cluster.failures == []
                await self.stream.changed.changed()

    def said(self, kind: type[Message]) -> list[Any]:
        """Return the messages of a type, each id once."""
        return list({message.id: message for message in self.stream.said if type(message) is kind}.values())

    def _read(self, _js: object, reading: Any, *, last: int | None = None) -> Any:
        return self.stream.read(reading, last=last)

    async def _seat(self, service: Service) -> None:
        while True:
            life = Life(self, service)
            await life.run()
            await asyncio.sleep(life.down_s)


class Life:
    """One instance of one service from its start to its end."""

    def __init__(self, world: World, service: Service) -> None:
        world.fences += 1
        self.world, self.service, self.fence = world, service, world.fences
        self.down_s = RESTART_S
        self._struck = asyncio.Event()
        self._blow: Blow | None = None
        self._thawed = asyncio.Event()
        self._failures: list[BaseException] = []

    async def run(self) -> None:
        """Be active until struck; a frozen one returns, too, and goes on later beside its successor."""
        session = Session(app_of(self), self._surroundings(), fence=self.fence)
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
            self.world.zombies.append(asyncio.create_task(self._haunt(session, active)))
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
        made = self.world.steps[self.service]
        made.append(what)
        strike = next((s for s in self.world.strikes if (s.service, s.step) == (self.service, len(made))), None)
        if strike is None:
            return
        if strike.blow in (Blow.WIPE, Blow.KILL_AND_WIPE):
            self.world.stores[self.service] = MemoryStore()
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
            telemetry=self.world.telemetry,
            say=self.say,
            fill=_empty,
            dead_letters=None,
        )
        return Surroundings(
            bus=self,  # type: ignore[arg-type]  # place and consuming are all that a session asks of it
            client=client,  # type: ignore[arg-type]
            folds=Folder(self),
            notes=MemoryStore(),
            clock=LoopClock(),
            pace=Pace(),
            metrics=METRICS,
            log=QUIET,
        )

    # ---- the bus ------------------------------------------------------------------------------------

    async def say(self, message: Message) -> None:
        """Publish."""
        name = type(message).__name__
        await self.step(f"say {name}")
        self.world.stream.publish(message)

    async def place(self, _client: object, service: Service) -> Place:
        """Return where the service's consumer stands."""
        known = self.world.stream.consumers.get(service)
        return Place(0 if known is None else known.floor, "s")

    @asynccontextmanager
    async def consuming(
        self, _client: object, service: Service, *, fence: int, after: int, take: Taker, **_pace: Pace
    ) -> AsyncIterator[None]:
        """Deliver what comes after a sequence; the predecessor's consumer is deleted."""
        known = self.world.stream.consumers.get(service)
        if known is not None:
            known.deleted = True
        consumer = Consumer(fence, after + 1, floor=after)
        self.world.stream.consumers[service] = consumer
        delivering = asyncio.create_task(self._deliver(consumer, take))
        try:
            yield
        finally:
            delivering.cancel()

    async def _deliver(self, consumer: Consumer, take: Taker) -> None:
        async for stored in self.world.stream.deliver(consumer):
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
        self.life.world.stream.changed.ring()

    async def term(self) -> None:
        raise AssertionError(f"{self.sequence} was given up")


async def _never(_seen: int) -> None:
    await asyncio.Event().wait()


async def _empty() -> float:
    return 0.0


# ---- what the services touch, a step before each ----------------------------------------------------------


class Folder:
    """The service's store, whichever it is now."""

    def __init__(self, life: Life) -> None:
        self._life = life

    @property
    def _store(self) -> MemoryStore:
        return self._life.world.stores[self._life.service]

    async def load(self, key: str) -> Versioned | None:
        return await self._store.load(key)

    async def keys(self, prefix: str = "") -> tuple[str, ...]:
        return await self._store.keys(prefix)

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        await self._store.delete(key, revision=revision)

    async def save(self, key: str, value: bytes, *, revision: int | None) -> int:
        await self._life.step(f"write {key}")
        return await self._store.save(key, value, revision=revision)


class Plans:
    """The plan board as the scheduler-adapter has it."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._board = life.world.board
        self.read, self.entry, self.watch = self._board.read, self._board.entry, self._board.watch

    async def publish(self, head: PlanHead, entries: Sequence[PlanEntry] = ()) -> None:
        if self._board.is_older(head):
            return
        await self._life.step(f"put entries of plan {head.generation} {head.phase}")
        self._board.put_entries(entries)
        await self._life.step(f"put head of plan {head.generation} {head.phase}")
        self._board.put_head(head)

    async def remove(self, job: JobUid) -> None:
        raise AssertionError(job)


class Hands:
    """The cluster as the services have it."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._cluster = life.world.cluster
        self.nodes, self.tasks = self._cluster.nodes, self._cluster.tasks
        self.watch, self.supports = self._cluster.watch, self._cluster.supports

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        await self._around("cordon", self._cluster.cordon(node, mark))

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        await self._around("uncordon", self._cluster.uncordon(node, owner=owner))

    async def create(self, launches: Sequence[TaskLaunch], *, avoid: frozenset[NodeName]) -> None:
        await self._around("create", self._cluster.create(launches, avoid=avoid))

    async def delete(self, task: TaskUid, *, grace: timedelta) -> None:
        await self._around("delete", self._cluster.delete(task, grace=grace))

    async def _around(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await self._life.step(what)
        except asyncio.CancelledError:
            work.close()
            raise
        await work


class Paper:
    """The sink."""

    def __init__(self, life: Life) -> None:
        self._life = life

    async def deliver(self, notice: Notice) -> None:
        await self._life.step("tell")
        self._life.world.notices.append(notice.id)


def app_of(life: Life) -> App[Any]:
    """Return the service as it is built, on hands that can be struck."""
    settings = Settings(nats_url=SecretStr("nats://nowhere"), pool=POOL, store=SecretStr("memory"))
    match life.service:
        case Service.DETECTOR:
            return build_detector(settings)
        case Service.DIAGNOSER:
            return build_diagnoser(settings)
        case Service.ISOLATOR:
            return App(service=life.service, stage=lambda context: _isolator(life, context))
        case Service.CHECKPOINT_MANAGER:
            return App(service=life.service, stage=_checkpoint_manager)
        case Service.SCHEDULER_ADAPTER:
            return assemble(Hands(life), SchedulerSettings())
        case Service.NOTIFIER:
            return App(service=life.service, stage=lambda context: _notifier(life, context))


def _isolator(life: Life, context: Context[Isolations]) -> Stage[Isolations]:
    return isolator_stage(Hand(Hands(life), context.clock, tend_every=timedelta(seconds=1)))


def _checkpoint_manager(context: Context[Checkpoints]) -> Stage[Checkpoints]:
    """Return the stage that takes the agents' word on files: there are none to look at."""

    async def act(effect: Effect) -> Iterable[Message]:
        assert isinstance(effect, Verify)
        return (choose(effect, trust, now=context.clock.now()),)

    return replace(checkpoint_stage(context.clock, look_limit=timedelta(seconds=1)), act=act)


def _notifier(life: Life, context: Context[Notices]) -> Stage[Notices]:
    sink: Sink = Paper(life)
    return notifier_stage(lambda _address: sink, context.clock, pool=NotificationPolicy())
