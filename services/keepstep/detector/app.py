"""The detector's shell: its stage, the ear that hears heartbeats beside it, and the look at the cluster's objects."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from keepstep.adapters.kube_named import names_kubernetes
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.detector.core import HEARS, Fold, deadlines, decide, effects, fold_key, over
from keepstep.detector.core.lookout import Lookout, called_wrong
from keepstep.detector.core.nodes import Relay, bring, hurts
from keepstep.detector.core.watch import Watch
from keepstep.detector.roll import Roll
from keepstep.detector.settings import DetectorSettings
from keepstep.ports.errors import Permanent
from keepstep.ports.troubles import Shown, Troubles
from keepstep.runtime import log
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings
from keepstep.runtime.stage import Stage

AT_ONCE = 16
"""Reports that are brought on at once, of those that hurt jobs and of the others: in a flood of thousands about nodes
where nothing runs none that hurts a job is behind them."""


def build(settings: Settings) -> App[Fold]:
    """Return the detector; its own settings are read from the environment on top of the shared ones.

    Raises Permanent if they name a Kubernetes that cannot be found.
    """
    own = DetectorSettings.model_validate(settings.model_dump() | DetectorSettings().model_dump(exclude=_shared()))
    background: list[Callable[[Context[Fold]], Awaitable[None]]] = [partial(listen, settings=own)]
    if names_kubernetes(own.cluster):
        from keepstep.detector.kubernetes import troubles_of  # noqa: PLC0415 - an extra of its own

        background.append(partial(look, troubles=troubles_of(own)))
    return App(service=Service.DETECTOR, stage=stage, background=tuple(background))


def _shared() -> set[str]:
    return set(Settings.model_fields)


def stage(context: Context[Fold]) -> Stage[Fold]:
    """Return the stage; its one effect brings a node's report to the jobs that run there."""
    roll = Roll(context.folds, fold_key)
    to_jobs, to_nobody = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)

    async def act(effect: Effect) -> Iterable[Message]:
        if not isinstance(effect, Relay):
            raise Permanent(f"the detector has no effect {effect.id}")
        async with to_jobs if hurts(effect, roll.jobs()) else to_nobody:
            for placed in bring(effect, roll.jobs()):  # looked for now: a job may have come while this waited
                await context.say(placed)
        return ()

    return Stage(
        service=Service.DETECTOR,
        hears=HEARS,
        state=Fold,
        fold_key=roll.key_of,
        decide=decide,
        deadlines=deadlines,
        over=over,
        effects=effects,
        act=act,
    )


async def listen(context: Context[Fold], *, settings: DetectorSettings) -> None:
    """Hear heartbeats and say what the watch suspects, until cancelled; starts with an empty window."""
    clock, every = context.clock, settings.detector_tick.total_seconds()
    watch = Watch(context.pool, clock.monotonic(), every=every, policy=settings.blindness)
    outages = context.telemetry.outages
    async with asyncio.TaskGroup() as group:
        group.create_task(context.telemetry.hear(lambda beat: watch.hear(beat, clock.monotonic())))
        while True:
            await asyncio.sleep(every)
            if not context.telemetry.connected or context.telemetry.outages != outages:
                outages = context.telemetry.outages
                watch.restart(clock.monotonic())
            for message in watch.tick(context.folds(), clock.monotonic(), clock.now()):
                await context.say(message)


async def look(context: Context[Fold], *, troubles: Troubles) -> None:
    """Say what objects of the cluster show of its nodes, until cancelled."""
    lookout, lines = Lookout(context.pool, called_wrong(context.folds())), log.logger(Service.DETECTOR)

    async def take(shown: Shown) -> None:
        news = lookout.see(shown, context.clock.now())
        if news.refused:
            lines.warning("report not read", node=shown.node, because=news.refused)
        for report in news.reports:
            await context.say(report)

    await troubles.follow(take)
