"""The isolator's shell: its stage, and the hand that does what its fold wants."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta

from keepstep.contracts.message import Message
from keepstep.contracts.policy import IsolationPolicy
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.isolator.core import (
    HEARS,
    Empty,
    Fence,
    Free,
    Isolations,
    Tend,
    deadlines,
    decide,
    effects,
    fold_key,
)
from keepstep.isolator.core.guard import budget_left
from keepstep.isolator.hand import Hand
from keepstep.isolator.reach import Reach, reach_of
from keepstep.isolator.settings import Settings
from keepstep.ports.cluster import Fleet
from keepstep.ports.errors import Transient
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings as Shared
from keepstep.runtime.stage import Stage, no_act

TELL_S = 5.0
"""A third of the time between two scrapes; on a machine it is a look into a folder."""


def build(settings: Shared) -> App[Isolations]:
    """Return the isolator on the cluster that the settings name; raises Permanent if they name none."""
    own = Settings()
    return assemble(reach_of(settings.cluster, own), tend_every=timedelta(seconds=own.tend_seconds))


def assemble(opened: Callable[[], Reach], *, tend_every: timedelta) -> App[Isolations]:
    """Return the isolator on a cluster that is opened anew at each activation."""
    return _Isolator(opened, tend_every).app()


class _Isolator:
    """The isolator with what the stage of its present activation opened, before any task beside it began."""

    def __init__(self, opened: Callable[[], Reach], tend_every: timedelta) -> None:
        self._opened, self._tend_every = opened, tend_every
        self._reach: Reach

    def app(self) -> App[Isolations]:
        """Return the service."""
        return App(service=Service.ISOLATOR, stage=self._stage, background=(self._follow, self._tell))

    def _stage(self, context: Context[Isolations]) -> Stage[Isolations]:
        reach = self._reach = self._opened()
        devices, evictions = reach.devices, reach.evictions
        hand = Hand(reach.fleet, context.clock, tend_every=self._tend_every, devices=devices, evictions=evictions)
        return isolator_stage(hand)

    async def _follow(self, _context: Context[Isolations]) -> None:
        if self._reach.follow is not None:
            await self._reach.follow()

    async def _tell(self, context: Context[Isolations]) -> None:
        await tell_budget(context, self._reach.fleet)


async def tell_budget(context: Context[Isolations], fleet: Fleet) -> None:
    """Show for ever what the guard would still let out; nothing while the fleet cannot be seen."""
    shown = context.metrics.guard_left
    try:
        while True:
            jobs = (job for fold in context.folds().values() for job in fold.jobs.values())
            policies = [IsolationPolicy(), *(job.policy for job in jobs)]
            try:
                left = budget_left(await fleet.census(), policies)
            except Transient:
                left = {}
            shown.clear()
            for room, count in left.items():
                shown.labels(room).set(count)
            await asyncio.sleep(TELL_S)
    finally:
        shown.clear()


def isolator_stage(hand: Hand) -> Stage[Isolations]:
    """Return the stage whose effects are done by ``hand``."""

    async def act(effect: Effect) -> Iterable[Message]:
        match effect:
            case Fence(request=request):
                return await hand.fence(request)
            case Tend(isolation=isolation):
                return await hand.tend(isolation)
            case Empty():
                return await hand.empty(effect)
            case Free(release=release):
                return await hand.free(release)
            case _:
                return await no_act(effect)

    return Stage(
        service=Service.ISOLATOR,
        hears=HEARS,
        state=Isolations,
        fold_key=fold_key,
        decide=decide,
        deadlines=deadlines,
        effects=effects,
        act=act,
    )
