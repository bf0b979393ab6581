"""Touches the fleet: cordons after a look at it, watches what is isolated, takes keepstep's own cordons back."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import assert_never

from keepstep.adapters.local_cluster import cluster_of
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.isolator.core import (
    HEARS,
    Fence,
    Free,
    Isolation,
    Isolations,
    Release,
    Request,
    Tend,
    answers,
    deadlines,
    decide,
    effects,
    fold_key,
)
from keepstep.isolator.core.fleet import (
    OWNER,
    Cordon,
    Ended,
    Keep,
    Refuse,
    Turned,
    Uncordon,
    judge_fence,
    judge_free,
    judge_tend,
)
from keepstep.isolator.settings import Settings
from keepstep.ports.clock import Clock
from keepstep.ports.cluster import Fleet
from keepstep.ports.errors import Permanent
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings as Shared
from keepstep.runtime.stage import Stage, no_act


def build(settings: Shared) -> App[Isolations]:
    """Return the isolator on the cluster that the settings name; raises Permanent if they name none."""
    fleet, own = cluster_of(settings.cluster), Settings()

    def stage(context: Context[Isolations]) -> Stage[Isolations]:
        return isolator_stage(Hand(fleet, context.clock, tend_every=timedelta(seconds=own.tend_seconds)))

    return App(service=Service.ISOLATOR, stage=stage)


def isolator_stage(hand: "Hand") -> Stage[Isolations]:
    """Return the stage whose effects are done by ``hand``."""

    async def act(effect: Effect) -> Iterable[Message]:
        match effect:
            case Fence(request=request):
                return await hand.fence(request)
            case Tend(isolation=isolation):
                return await hand.tend(isolation)
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


class Hand:
    """The one hand on the fleet; looking and cordoning is one at a time, so that two requests cannot pass the guard."""

    def __init__(self, fleet: Fleet, clock: Clock, *, tend_every: timedelta) -> None:
        self._fleet = fleet
        self._clock = clock
        self._tend_every = tend_every
        self._one_at_a_time = asyncio.Lock()

    async def fence(self, request: Request) -> Iterable[Message]:
        """Cordon the node if the fleet allows it now; return the one answer. Raises Transient."""
        async with self._one_at_a_time:
            match judge_fence(await self._fleet.nodes(), request):
                case Cordon(mark=mark, because=because):
                    try:
                        await self._fleet.cordon(request.node, mark)
                    except Permanent as refused:
                        return (self._declined(request, f"{refused}: left as it is"),)
                    return (answers.isolated(request, because=because, now=self._clock.now()),)
                case Refuse(because=because):
                    return (self._declined(request, because),)
                case judged:
                    assert_never(judged)

    async def tend(self, isolation: Isolation) -> Iterable[Message]:
        """Look at the node until it turns or its isolation is over; return the news. Raises Transient."""
        while True:
            now = self._clock.now()
            match judge_tend(await self._fleet.nodes(), isolation, now=now):
                case Keep():
                    await asyncio.sleep(self._tend_every.total_seconds())
                case Turned(ready=ready):
                    return (answers.turned(isolation, ready=ready, now=now),)
                case Uncordon(because=because):
                    return (self._released(isolation, await self._uncordoned(isolation.node) or because),)
                case Ended(because=because):
                    return (self._released(isolation, because),)
                case judged:
                    assert_never(judged)

    async def free(self, release: Release) -> Iterable[Message]:
        """Release the node as a person or a revised verdict asks; return the answer. Raises Transient."""
        async with self._one_at_a_time:
            match judge_free(await self._fleet.nodes(), release):
                case Uncordon(because=because):
                    refused = await self._uncordoned(release.node)
                    return (self._kept(release, refused) if refused else self._released(release, because),)
                case Ended(because=because):
                    return (self._released(release, because),)
                case Refuse(because=because):
                    return (self._kept(release, because),)
                case judged:
                    assert_never(judged)

    async def _uncordoned(self, node: NodeName) -> str:
        """Take the mark away; return why that was refused, when somebody put a mark of his own there meanwhile."""
        try:
            await self._fleet.uncordon(node, owner=OWNER)
        except Permanent as refused:
            return f"its cordon is not keepstep's any more: {refused}"
        return ""

    def _declined(self, request: Request, because: str) -> Message:
        now = self._clock.now()
        return answers.declined(request.origin, because=because, now=now, node=request.node, shared=request.shared)

    def _released(self, ended: Isolation | Release, because: str) -> Message:
        return answers.released(ended.origin, node=ended.node, because=because, now=self._clock.now())

    def _kept(self, release: Release, because: str) -> Message:
        return answers.release_declined(release.origin, because=because, now=self._clock.now())
