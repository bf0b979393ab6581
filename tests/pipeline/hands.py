"""What the services touch, a step before each touch, and the services on hands that can be struck."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol

from pydantic import SecretStr

from keepstep.adapters.store_memory import MemoryStore
from keepstep.checkpoint_manager.app import checkpoint_stage
from keepstep.checkpoint_manager.core import Checkpoints, Verify, Wake, choose
from keepstep.checkpoint_manager.files import trust
from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import TaskLaunch
from keepstep.core.decision import Effect
from keepstep.detector.app import build as build_detector
from keepstep.diagnoser.app import build as build_diagnoser
from keepstep.isolator.app import isolator_stage
from keepstep.isolator.core import Isolations
from keepstep.isolator.hand import Hand
from keepstep.notifier.app import notifier_stage
from keepstep.notifier.core import Notices
from keepstep.ports.cluster import CordonMark
from keepstep.ports.sink import Notice, Sink
from keepstep.ports.store import Versioned
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings
from keepstep.runtime.stage import Stage
from keepstep.scheduler_adapter.app import assemble
from keepstep.scheduler_adapter.settings import Settings as SchedulerSettings
from tests.pipeline.outside import Outside

POOL = Pool("p")


class Touch(Protocol):
    """Whoever touches the outside."""

    service: Service
    outside: Outside

    async def step(self, what: str) -> None:
        """Count the step that comes now; may never return."""


class Folder:
    """The service's store, whichever it is now."""

    def __init__(self, life: Touch) -> None:
        self._life = life

    @property
    def _store(self) -> MemoryStore:
        return self._life.outside.stores[self._life.service]

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

    def __init__(self, life: Touch) -> None:
        self._life = life
        self._board = life.outside.board
        self.read, self.entry, self.watch = self._board.read, self._board.entry, self._board.watch

    async def publish(self, head: PlanHead, entries: Sequence[PlanEntry] = (), *, again: bool = False) -> None:
        known = await self._board.read(head.job)
        if self._board.is_older(head) or (known is not None and known.digest == head.digest and not again):
            return
        await self._life.step(f"put entries of plan {head.generation} {head.phase}")
        self._board.put_entries(entries)
        await self._life.step(f"put head of plan {head.generation} {head.phase}")
        self._board.put_head(head)

    async def remove(self, job: JobUid) -> None:
        await self._life.step("remove plan")
        self._board.remove(job)


class Hands:
    """The cluster as the services have it."""

    def __init__(self, life: Touch) -> None:
        self._life = life
        self._cluster = life.outside.cluster
        self.nodes, self.census, self.tasks = self._cluster.nodes, self._cluster.census, self._cluster.tasks
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

    def __init__(self, life: Touch) -> None:
        self._life = life

    async def deliver(self, notice: Notice) -> None:
        await self._life.step("tell")
        self._life.outside.notices.append(notice.id)


def app_of(life: Touch) -> App[Any]:
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


def _isolator(life: Touch, context: Context[Isolations]) -> Stage[Isolations]:
    return isolator_stage(Hand(Hands(life), context.clock, tend_every=timedelta(seconds=1)))


def _checkpoint_manager(context: Context[Checkpoints]) -> Stage[Checkpoints]:
    """Return the stage that takes the agents' word on files: there are none to look at."""

    async def act(effect: Effect) -> Iterable[Message]:
        if isinstance(effect, Wake):
            return ()
        assert isinstance(effect, Verify)
        return (choose(effect, trust, now=context.clock.now()),)

    return replace(checkpoint_stage(context.clock, look_limit=timedelta(seconds=1)), act=act)


def _notifier(life: Touch, context: Context[Notices]) -> Stage[Notices]:
    sink: Sink = Paper(life)
    return notifier_stage(lambda _address: sink, context.clock, pool=NotificationPolicy())
