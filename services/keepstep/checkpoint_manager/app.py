"""Looks at files before a checkpoint is chosen, and answers every verdict."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta

from keepstep.checkpoint_manager.core import (
    HEARS,
    Checkpoints,
    Verify,
    Wake,
    choose,
    deadlines,
    decide,
    effects,
    fold_key,
    over,
)
from keepstep.checkpoint_manager.files import glance, in_daemon_thread, trust
from keepstep.checkpoint_manager.settings import Settings
from keepstep.contracts.events import CheckpointChosen
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.ports.clock import Clock
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings as Shared
from keepstep.runtime.stage import Stage, no_act


def build(_settings: Shared) -> App[Checkpoints]:
    """Return the checkpoint-manager."""
    limit = timedelta(seconds=Settings().look_seconds)

    def stage(context: Context[Checkpoints]) -> Stage[Checkpoints]:
        return checkpoint_stage(context.clock, look_limit=limit)

    return App(service=Service.CHECKPOINT_MANAGER, stage=stage)


def checkpoint_stage(clock: Clock, *, look_limit: timedelta) -> Stage[Checkpoints]:
    """Return the stage; a look at the files ends after ``look_limit``."""

    async def act(effect: Effect) -> Iterable[Message]:
        match effect:
            case Verify():
                return (await look_and_choose(effect, clock, limit=look_limit),)
            case Wake():
                await wake(effect, limit=look_limit)
                return ()
            case _:
                return await no_act(effect)

    return Stage(
        service=Service.CHECKPOINT_MANAGER,
        hears=HEARS,
        state=Checkpoints,
        fold_key=fold_key,
        decide=decide,
        deadlines=deadlines,
        effects=effects,
        act=act,
        over=over,
    )


async def look_and_choose(wanted: Verify, clock: Clock, *, limit: timedelta) -> CheckpointChosen:
    """Return the answer after a look at the files, or on trust when the look takes longer than ``limit``."""
    now = clock.now()
    try:
        return await in_daemon_thread(lambda: choose(wanted, glance, now=now), limit=limit)
    except TimeoutError:
        return choose(wanted, trust, now=clock.now())


async def wake(wanted: Wake, *, limit: timedelta) -> None:
    """Touch the files, for as long as a look may take; what is seen is looked at again when the verdict is there."""
    with suppress(TimeoutError):
        await in_daemon_thread(lambda: [glance(step) for step in wanted.steps], limit=limit)
