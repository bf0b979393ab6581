"""Compares the cluster with the folds now and then: for what no watch saw, nobody counts on, or no agent can read."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial

from keepstep.adapters.turns import in_turns
from keepstep.contracts.ids import JobUid
from keepstep.contracts.orders import PlanEntry
from keepstep.contracts.taxonomy import Service
from keepstep.ports.clock import Clock
from keepstep.ports.cluster import TaskStatus, Workloads
from keepstep.ports.controllers import Controllers
from keepstep.ports.errors import Transient
from keepstep.runtime import log
from keepstep.runtime.plans import PlanBoard
from keepstep.runtime.service import Context
from keepstep.scheduler_adapter.core import JobState, effects
from keepstep.scheduler_adapter.core.losses import missing, orphans
from keepstep.scheduler_adapter.core.putting_off import JUST_NOW, put_off
from keepstep.scheduler_adapter.core.sightings import vanished
from keepstep.scheduler_adapter.core.wants import PublishPlan
from keepstep.scheduler_adapter.meanings import Meanings
from keepstep.scheduler_adapter.settings import Settings
from keepstep.scheduler_adapter.telling import Needless, Said, telling


async def compare_listings(
    workloads: Workloads,
    context: Context[JobState],
    settings: Settings,
    said: Said,
    *,
    controllers: Controllers | None = None,
) -> None:
    """Compare the cluster's listing with the placements, for changes that nobody saw.

    A burst is not disturbed: the look waits for it, within bounds. What the watch has ``said`` since the last look is
    left out: a fold that is busy with a burst hears it yet.
    """
    every = settings.compare_every if controllers is None else settings.controlled_every
    while True:
        await asyncio.sleep(every.total_seconds())
        waited = await _burst_over(said, context.clock, settings.compare_put_off)
        try:
            await compare_plans(context)
            await compare_once(workloads, context, needless=partial(said.lately, within=every + waited))
            if controllers is not None:
                await compare_jobs(controllers, context)
        except Transient:
            continue  # the cluster is out of reach: nothing was seen, nothing is said


async def _burst_over(said: Said, clock: Clock, longest: timedelta) -> timedelta:
    """Return how long it took until the watch was no longer busy, or at ``longest``."""
    began, waited = clock.monotonic(), timedelta()
    while pause := put_off(said.since(JUST_NOW), waited, longest=longest):
        await asyncio.sleep(pause.total_seconds())
        waited = timedelta(seconds=clock.monotonic() - began)
    return waited


async def compare_plans(context: Context[JobState]) -> None:
    """Put out anew what agents wait for and cannot read on the board, whoever garbled it. Raises Transient."""
    for key, state in tuple(context.folds().items()):
        for effect in effects(state):
            if isinstance(effect, PublishPlan) and not await _readable(context.plans, state, effect):
                log.logger(Service.SCHEDULER_ADAPTER).warning("plan put out anew", key=key, because="it was garbled")
                await context.plans.publish(effect.head, effect.entries, again=True)


async def _readable(plans: PlanBoard, state: JobState, wanted: PublishPlan) -> bool:
    """Return whether the head can be read, and the entry of every task that has not started what it is to run."""
    if await plans.read(wanted.head.job) is None:
        return False
    awaited = [each for each in wanted.entries if not _started(state, each)]
    try:
        for each in awaited:
            await plans.entry(each.job, each.task)
    except Transient:
        return False
    return True


def _started(state: JobState, entry: PlanEntry) -> bool:
    task = state.named(entry.task)
    return task is not None and task.started >= entry.generation


async def compare_once(
    workloads: Workloads, context: Context[JobState], *, needless: Needless = lambda _: False
) -> None:
    """Say what one listing means, and take out what no job counts on. Raises Transient.

    For what is missing the folds are read before the listing, for what is too much after it: a task that is placed
    between the two looks is neither.
    """
    folds = dict(context.folds())
    listing = await workloads.tasks()
    listed = frozenset(status.ref.uid for status in listing)
    absent = [status for state in folds.values() for status in missing(state, listed)]
    meanings = Meanings(context)
    async with telling(context.say, Said(context.clock), needless=needless) as tell:
        async for status in in_turns((*listing, *absent)):
            await meanings.tell(status, tell)
    for job, statuses in _by_job(listing).items():
        state = context.folds().get(job)
        if state is None:
            continue
        for status in orphans(state, statuses):
            await workloads.delete(status.ref.uid, grace=state.specified().policy.trainer.stop_grace)


def _by_job(listing: Iterable[TaskStatus]) -> Mapping[JobUid, list[TaskStatus]]:
    jobs: dict[JobUid, list[TaskStatus]] = defaultdict(list)
    for status in listing:
        jobs[status.job].append(status)
    return jobs


async def compare_jobs(controllers: Controllers, context: Context[JobState]) -> None:
    """Say which jobs have no object any more. Raises Transient.

    The folds are read before the listing: a job that is found between the two looks is not gone.
    """
    folds = dict(context.folds())
    listed = await controllers.jobs()
    for message in vanished(folds.values(), listed, now=context.clock.now()):
        await context.say(message)
