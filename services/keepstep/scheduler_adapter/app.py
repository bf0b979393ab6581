"""Touches plan board and cluster: publishes plans, places tasks, takes them out, and watches what the cluster does."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import assert_never

from keepstep.adapters.local_cluster import cluster_of
from keepstep.contracts.events import JobWaiting
from keepstep.contracts.ids import EventId, consequence_id
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.ports.cluster import TaskPhase, TaskStatus, Workloads
from keepstep.ports.errors import NoRoom, Transient
from keepstep.runtime.service import App, Context
from keepstep.runtime.settings import Settings as Shared
from keepstep.runtime.stage import Stage, no_act
from keepstep.scheduler_adapter.core import HEARS, JobState, deadlines, decide, effects, fold_key, over
from keepstep.scheduler_adapter.core.forgetting import RemovePlan
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.losses import missing, observe, orphaned
from keepstep.scheduler_adapter.core.wants import CreateTasks, DeleteTask, PublishPlan, SchedulerEffect
from keepstep.scheduler_adapter.settings import Settings


def build(settings: Shared) -> App[JobState]:
    """Return the scheduler-adapter on the cluster that the settings name."""
    return assemble(cluster_of(settings.cluster), Settings())


def assemble(workloads: Workloads, settings: Settings) -> App[JobState]:
    """Return the scheduler-adapter on any cluster."""

    def stage(context: Context[JobState]) -> Stage[JobState]:
        return scheduler_stage(Hand(workloads, context, settings))

    async def follow(context: Context[JobState]) -> None:
        await follow_changes(workloads, context)

    async def compare(context: Context[JobState]) -> None:
        await compare_listings(workloads, context, settings)

    return App(service=Service.SCHEDULER_ADAPTER, stage=stage, background=(follow, compare))


def scheduler_stage(hand: "Hand") -> Stage[JobState]:
    """Return the stage whose effects are done by ``hand``."""

    async def act(effect: Effect) -> Iterable[Message]:
        match effect:
            case PublishPlan() | CreateTasks() | DeleteTask() | KeepHeld() | RemovePlan():
                return await hand.do(effect)
            case _:
                return await no_act(effect)

    return Stage(
        service=Service.SCHEDULER_ADAPTER,
        hears=HEARS,
        state=JobState,
        fold_key=fold_key,
        decide=partial(decide, supports=hand.workloads.supports()),
        deadlines=deadlines,
        effects=effects,
        act=act,
        over=over,
    )


class Hand:
    """The one hand on plan board and tasks: every effect looks first and acts only if there is something to do."""

    def __init__(self, workloads: Workloads, context: Context[JobState], settings: Settings) -> None:
        self.workloads = workloads
        self._context = context
        self._settings = settings
        self._waiting: dict[str, str] = {}

    async def do(self, effect: SchedulerEffect) -> Iterable[Message]:
        """Do one effect and return what came of it. Raises Transient to be called again."""
        match effect:
            case PublishPlan():
                return await self._publish(effect)
            case CreateTasks():
                return await self._create(effect)
            case DeleteTask():
                return await self._delete(effect)
            case KeepHeld():
                return await self._keep_held(effect)
            case RemovePlan(job=job):
                await self._context.plans.remove(job.uid)
                return ()
            case other:
                assert_never(other)

    async def _publish(self, effect: PublishPlan) -> Iterable[Message]:
        now = await self._context.plans.read(effect.head.job)
        if now is None or (now.place <= effect.head.place and now.digest != effect.head.digest):
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

    async def _say_waiting(self, effect: CreateTasks, because: str) -> None:
        """Say why there is no room, once per reason."""
        if self._waiting.get(effect.id) == because:
            return
        launch = effect.launches[0]
        await self._context.say(
            JobWaiting(
                id=consequence_id("JobWaiting", EventId(effect.id), subject=because),
                time=self._context.clock.now(),
                pool=launch.pool,
                job=launch.job,
                generation=effect.generation,
                because=because,
            )
        )
        self._waiting[effect.id] = because

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


async def follow_changes(workloads: Workloads, context: Context[JobState]) -> None:
    """Say what every change in the cluster means, as soon as it is seen."""
    async for status in workloads.watch():
        await say_status(context, status)


async def compare_listings(workloads: Workloads, context: Context[JobState], settings: Settings) -> None:
    """Compare the cluster's listing with the placements, for changes that nobody saw."""
    while True:
        await asyncio.sleep(settings.compare_every.total_seconds())
        try:
            await compare_once(workloads, context)
        except Transient:
            continue  # the cluster is out of reach: nothing was seen, nothing is said


async def compare_once(workloads: Workloads, context: Context[JobState]) -> None:
    """Say what one listing means, and take out what no job counts on. Raises Transient.

    For what is missing the folds are read before the listing, for what is too much after it: a task that is placed
    between the two looks is neither.
    """
    folds = dict(context.folds())
    listing = await workloads.tasks()
    listed = frozenset(status.ref.uid for status in listing)
    absent = [status for state in folds.values() for status in missing(state, listed)]
    for status in (*listing, *absent):
        await say_status(context, status)
    for status in listing:
        state = context.folds().get(status.job)
        if state is not None and orphaned(state, status):
            await workloads.delete(status.ref.uid, grace=state.specified().policy.trainer.stop_grace)


async def say_status(context: Context[JobState], status: TaskStatus) -> None:
    """Say what one status means for its job, if anything."""
    state = context.folds().get(status.job)
    message = observe(state, status, context.clock.now()) if state is not None else None
    if message is not None:
        await context.say(message)
