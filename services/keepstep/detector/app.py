"""The detector's shell: its stage, and the ear that hears heartbeats beside it."""

import asyncio
from collections.abc import Iterable
from functools import partial

from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.detector.core import HEARS, Fold, deadlines, decide, effects, fold_key, over
from keepstep.detector.core.nodes import Relay, bring
from keepstep.detector.core.watch import Watch
from keepstep.detector.settings import DetectorSettings
from keepstep.ports.errors import Permanent
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings
from keepstep.runtime.stage import Stage


def build(settings: Settings) -> App[Fold]:
    """Return the detector; its own settings are read from the environment on top of the shared ones."""
    own = DetectorSettings.model_validate(settings.model_dump() | DetectorSettings().model_dump(exclude=_shared()))
    return App(service=Service.DETECTOR, stage=stage, background=(partial(listen, settings=own),))


def _shared() -> set[str]:
    return set(Settings.model_fields)


def stage(context: Context[Fold]) -> Stage[Fold]:
    """Return the stage; its one effect brings a node's report to the jobs that run there."""

    async def act(effect: Effect) -> Iterable[Message]:
        if not isinstance(effect, Relay):
            raise Permanent(f"the detector has no effect {effect.id}")
        return bring(effect, context.folds())

    return Stage(
        service=Service.DETECTOR,
        hears=HEARS,
        state=Fold,
        fold_key=fold_key,
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
