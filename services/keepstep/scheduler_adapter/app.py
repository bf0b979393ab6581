"""Touches plan board and cluster: publishes plans, places tasks, takes them out, and watches what the cluster does."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from keepstep.adapters.kube_named import client_of
from keepstep.adapters.local_cluster import cluster_of
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.ports.bindings import Bindings
from keepstep.ports.cluster import Workloads
from keepstep.ports.controllers import Controllers
from keepstep.runtime import log
from keepstep.runtime.audit import audited
from keepstep.runtime.service import App, Context
from keepstep.runtime.settings import Settings as Shared
from keepstep.runtime.stage import Stage, no_act
from keepstep.scheduler_adapter.comparing import compare_listings
from keepstep.scheduler_adapter.core import HEARS, JobState, deadlines, decide, effects, fold_key, over
from keepstep.scheduler_adapter.core.forgetting import RemovePlan
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.making import Ground, MakeJob
from keepstep.scheduler_adapter.core.restarts import EndJob, RestartTasks
from keepstep.scheduler_adapter.core.sightings import Told, sighted
from keepstep.scheduler_adapter.core.wants import CreateTasks, DeleteTask, PublishPlan
from keepstep.scheduler_adapter.hand import Hand
from keepstep.scheduler_adapter.meanings import Meanings
from keepstep.scheduler_adapter.settings import Settings
from keepstep.scheduler_adapter.telling import Said, telling

if TYPE_CHECKING:
    from keepstep.scheduler_adapter.reach import Offer


def build(settings: Shared) -> App[JobState]:
    """Return the scheduler-adapter on the cluster that the settings name; raises Permanent if they name none."""
    client = client_of(settings.cluster, audit=audited(log.logger(Service.SCHEDULER_ADAPTER)))
    if client is None:
        return assemble(cluster_of(settings.cluster), Settings())
    from keepstep.scheduler_adapter.reach import offer  # noqa: PLC0415 - an extra of its own

    own = Settings()
    opened = partial(offer, client, ours=own.ours(settings.pool), namespaces=settings.namespaces)
    return Controlled(opened, own, Ground(settings.creates_in)).app()


def assemble(workloads: Workloads, settings: Settings) -> App[JobState]:
    """Return the scheduler-adapter on a cluster whose tasks are its own to make."""
    return _Own(workloads, settings).app()


class _Own:
    """The scheduler-adapter on such a cluster, with what was said in its present activation."""

    def __init__(self, workloads: Workloads, settings: Settings) -> None:
        self._workloads, self._settings = workloads, settings
        self._said: Said

    def app(self) -> App[JobState]:
        """Return the service."""
        return App(service=Service.SCHEDULER_ADAPTER, stage=self._stage, background=(self._follow, self._compare))

    def _stage(self, context: Context[JobState]) -> Stage[JobState]:
        self._said = Said(context.clock)
        return scheduler_stage(Hand(self._workloads, context, self._settings))

    async def _follow(self, context: Context[JobState]) -> None:
        await follow_changes(self._workloads, context, self._said)

    async def _compare(self, context: Context[JobState]) -> None:
        await compare_listings(self._workloads, context, self._settings, self._said)


class Controlled:
    """The scheduler-adapter on a cluster whose pods are made by job controllers.

    The cluster is opened anew at each activation, by the stage, before any task beside it begins: what a standby saw
    last is acted on by nobody.
    """

    def __init__(self, opened: Callable[[Bindings], "Offer"], settings: Settings, ground: Ground) -> None:
        self._opened, self._settings, self._ground = opened, settings, ground
        self._cluster: Offer
        self._said: Said

    def app(self) -> App[JobState]:
        """Return the service."""
        beside = (self._see, self._follow, self._find, self._compare)
        return App(service=Service.SCHEDULER_ADAPTER, stage=self._stage, background=beside)

    def _stage(self, context: Context[JobState]) -> Stage[JobState]:
        there = self._cluster = self._opened(context.bindings)
        self._said = Said(context.clock)
        hand = Hand(there.workloads, context, self._settings, controllers=there.controllers, orders=there.orders)
        return scheduler_stage(hand, self._ground)

    async def _see(self, _context: Context[JobState]) -> None:
        await self._cluster.follow()

    async def _follow(self, context: Context[JobState]) -> None:
        await follow_changes(self._cluster.workloads, context, self._said)

    async def _find(self, context: Context[JobState]) -> None:
        await follow_jobs(self._cluster.controllers, context)

    async def _compare(self, context: Context[JobState]) -> None:
        cluster = self._cluster
        await compare_listings(cluster.workloads, context, self._settings, self._said, controllers=cluster.controllers)


def scheduler_stage(hand: Hand, ground: Ground | None = None) -> Stage[JobState]:
    """Return the stage whose effects are done by ``hand``; ``ground``: where orders become objects of a cluster."""

    async def act(effect: Effect) -> Iterable[Message]:
        match effect:
            case PublishPlan() | CreateTasks() | DeleteTask() | RestartTasks() | EndJob():
                return await hand.do(effect)
            case MakeJob() | KeepHeld() | RemovePlan():
                return await hand.do(effect)
            case _:
                return await no_act(effect)

    return Stage(
        service=Service.SCHEDULER_ADAPTER,
        hears=HEARS,
        state=JobState,
        fold_key=fold_key,
        decide=partial(decide, supports=hand.workloads.supports(), ground=ground),
        deadlines=deadlines,
        effects=effects,
        act=act,
        over=over,
        one_a_turn=True,
    )


async def follow_changes(workloads: Workloads, context: Context[JobState], said: Said) -> None:
    """Say what every change in the cluster means, as soon as it is seen; ``said`` takes in what was."""
    meanings = Meanings(context)
    async with telling(context.say, said) as tell:
        async for status in workloads.watch():
            await meanings.tell(status, tell)


async def follow_jobs(controllers: Controllers, context: Context[JobState]) -> None:
    """Say what every sighting of a job object means, as soon as it is seen."""
    told = Told()
    async for said in controllers.sightings():
        state, now = context.folds().get(said.job.uid), context.clock.now()
        message = sighted(state, said, pool=context.pool, now=now, told=told.of(said.job.uid, now))
        if message is not None:
            await context.say(message)
            told.note(said.job.uid, message)
