"""The one hand on plan board, tasks and jobs: every effect looks first and acts only if there is something to do."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from keepstep.asking.refused import Refused
from keepstep.contracts.events import JobWaiting
from keepstep.contracts.ids import EventId, JobUid, TaskUid, consequence_id
from keepstep.contracts.message import POOL_KEY, Message
from keepstep.ports.cluster import TaskPhase, Workloads
from keepstep.ports.controllers import Changes, Controllers, RestartOrder
from keepstep.ports.errors import LevelRefused, NoRoom, Permanent, Transient
from keepstep.runtime.service import Context
from keepstep.scheduler_adapter.core import JobState
from keepstep.scheduler_adapter.core.forgetting import RemovePlan
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.making import MakeJob
from keepstep.scheduler_adapter.core.restarts import EndJob, RestartTasks, safe_tasks
from keepstep.scheduler_adapter.core.wants import CreateTasks, DeleteTask, PublishPlan, SchedulerEffect
from keepstep.scheduler_adapter.settings import Settings

if TYPE_CHECKING:
    from keepstep.scheduler_adapter.orders import Orders


class Hand:
    """Does what the folds want. ``controllers`` is None where tasks are keepstep's own to make and to delete."""

    def __init__(
        self,
        workloads: Workloads,
        context: Context[JobState],
        settings: Settings,
        *,
        controllers: Controllers | None = None,
        orders: "Orders | None" = None,
    ) -> None:
        self.workloads = workloads
        self._controllers, self._orders = controllers, orders
        self._context = context
        self._settings = settings
        self._waiting: dict[str, str] = {}

    async def do(self, effect: SchedulerEffect) -> Iterable[Message]:  # noqa: PLR0911 - one for each kind of effect
        """Do one effect and return what came of it. Raises Transient to be called again."""
        match effect:
            case PublishPlan():
                return await self._publish(effect)
            case CreateTasks():
                return await self._create(effect)
            case DeleteTask():
                return await self._delete(effect)
            case RestartTasks():
                return await self._restart(effect)
            case EndJob():
                return await self._end(effect)
            case KeepHeld():
                return await self._keep_held(effect)
            case MakeJob():
                return await self._make(effect)
            case RemovePlan(job=job):
                await self._context.plans.remove(job.uid)
                return ()
            case other:
                assert_never(other)

    async def _make(self, effect: MakeJob) -> Iterable[Message]:
        """Make the object of an order, and say that it is there or why it cannot be had. Raises Transient."""
        now = self._context.clock.now
        if self._orders is None:
            return (effect.refused(now(), "kubernetes: this pool runs jobs on nodes of its own by now; order it anew"),)
        try:
            made = await self._orders.make(effect.making)
        except (Refused, Permanent) as refused:
            return (effect.refused(now(), str(refused)),)
        return (effect.created(now(), made.job, made.kind),)

    async def _publish(self, effect: PublishPlan) -> Iterable[Message]:
        await self._context.plans.publish(effect.head, effect.entries)
        if effect.announce is None:
            return ()
        return (effect.announce.model_copy(update={"time": self._context.clock.now()}),)

    async def _create(self, effect: CreateTasks) -> Iterable[Message]:
        """Place the tasks as soon as there is room, however long that takes. Raises Transient."""
        while True:
            try:
                await self._place(effect)
            except NoRoom as full:
                await self._say_waiting(effect, str(full))
                await asyncio.sleep(self._settings.room_every.total_seconds())
            else:
                self._waiting.pop(effect.id, None)
                return ()

    async def _place(self, effect: CreateTasks) -> None:
        """Place off the nodes that are rather not used, or else with them."""
        strict = frozenset(effect.avoid)
        try:
            await self.workloads.create(effect.launches, avoid=strict | frozenset(effect.rather_not))
        except NoRoom:
            if not effect.rather_not:
                raise
            await self.workloads.create(effect.launches, avoid=strict)

    async def _say_waiting(self, effect: CreateTasks | RestartTasks, because: str) -> None:
        """Say why there is no room, once per reason."""
        if self._waiting.get(effect.id) == because:
            return
        await self._context.say(
            JobWaiting(
                id=consequence_id("JobWaiting", EventId(effect.id), subject=because),
                time=self._context.clock.now(),
                pool=effect.pool,
                job=effect.job,
                generation=effect.generation,
                because=because,
            )
        )
        self._waiting[effect.id] = because

    async def _restart(self, effect: RestartTasks) -> Iterable[Message]:
        """Pursue the restart until the new pods run, and say of each old task when it is gone. Raises Transient."""
        told: dict[TaskUid, bool] = {}
        pause = shortest = self._settings.between_looks(len(effect.lost))
        with self._controlling().watching(effect.job.uid) as changes:
            while True:
                order = self._order(effect)
                try:
                    report = await self._controlling().restart(order)
                except NoRoom as full:
                    await self._say_waiting(effect, str(full))
                    await asyncio.sleep(self._settings.room_every.total_seconds())
                    continue
                except LevelRefused as refused:
                    return (effect.failed(self._context.clock.now(), str(refused)),)
                await self._say_released(effect, report.gone, told)
                if report.waits:
                    await self._say_waiting(effect, report.waits)
                if report.done:
                    return ()
                await asyncio.sleep(shortest.total_seconds())  # the pods of a gang change one after another
                changed = await self._changed(changes, effect, order, within=pause)
                pause = shortest if changed else min(2 * pause, self._settings.gone_longest)

    async def _changed(self, changes: Changes, effect: RestartTasks, order: RestartOrder, *, within: timedelta) -> bool:
        """Return whether job, pods or what is to be done of them changed in that time, as soon as it is known."""
        while within > timedelta(0):
            part = min(within, self._settings.order_every)
            if await changes.any(within=part) or self._order(effect) != order:
                return True
            within -= part
        return False

    def _order(self, effect: RestartTasks) -> RestartOrder:
        state = self._context.folds().get(effect.job.uid)
        return RestartOrder(
            id=effect.id,
            job=effect.job.uid,
            incident=effect.incident,
            level=effect.level,
            lost=frozenset(each.ref.uid for each in effect.lost),
            safe=frozenset() if state is None else safe_tasks(state),
            avoid=frozenset(effect.avoid),
        )

    async def _end(self, effect: EndJob) -> Iterable[Message]:
        """See that the job stays down, and say of each task when it is gone. Raises Transient.

        A refused job that came while the pool is paused is left alone, though the pause has not reached its fold yet.
        """
        if effect.refused and await self._hold(effect.job.uid):
            raise Transient(f"actions are paused; {effect.job.name} waits", retry_after=self._settings.end_every)
        uids = frozenset(each.ref.uid for each in effect.tasks)
        gone = await self._controlling().end(effect.job.uid, uids, succeeded=effect.succeeded, refused=effect.refused)
        await self._say_released(effect, gone, {})
        if set(gone) != uids:
            words = f"{len(uids) - len(gone)} pods of {effect.job.name} are still there"
            raise Transient(words, retry_after=self._settings.end_every)
        return ()

    async def _say_released(
        self, effect: RestartTasks | EndJob, gone: Mapping[TaskUid, bool], told: dict[TaskUid, bool]
    ) -> None:
        news = {task: proven for task, proven in sorted(gone.items()) if told.get(task) is not proven}
        for message in effect.released(news, self._context.clock.now()):
            await self._context.say(message)
        told |= news

    def _controlling(self) -> Controllers:
        if self._controllers is None:
            raise Permanent("this job was found on a cluster with job controllers; KEEPSTEP_CLUSTER names another one")
        return self._controllers

    async def _hold(self, job: JobUid) -> bool:
        """Return whether the pool's actions are paused, and tell the job of it."""
        folds = self._context.folds()
        pool, state = folds.get(POOL_KEY), folds.get(job)
        if pool is None or state is None or not pool.paused:
            return False
        for news in KeepHeld.of(pool).news((state,), self._context.clock.now()):
            await self._context.say(news)
        return True

    async def _keep_held(self, effect: KeepHeld) -> Iterable[Message]:
        """Tell the jobs of the pool, and those that come later, until people order otherwise."""
        while True:
            for news in effect.news(tuple(self._context.folds().values()), self._context.clock.now()):
                await self._context.say(news)
            await asyncio.sleep(self._settings.hold_every.total_seconds())

    async def _delete(self, effect: DeleteTask) -> Iterable[Message]:
        await self.workloads.delete(effect.ref.uid, grace=effect.grace)
        known = {status.ref.uid: status for status in await self.workloads.tasks(effect.job.uid)}
        status = known.get(effect.ref.uid)
        if status is not None and status.phase is not TaskPhase.GONE:
            raise Transient(f"task {effect.ref.name} is on its way out", retry_after=self._settings.gone_every)
        proven = status is not None and status.proven
        return (effect.released(self._context.clock.now(), proven=proven),)
