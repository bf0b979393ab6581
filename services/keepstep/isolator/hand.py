"""The one hand on the fleet: takes nodes and devices out after a look at them, tends them, and takes its marks back."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import assert_never

from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Message
from keepstep.core.node_standing import OWNER
from keepstep.isolator.core import Empty, Isolation, Release, Request, answers
from keepstep.isolator.core.fleet import (
    Cordon,
    Emptied,
    Ended,
    Keep,
    Refuse,
    Turned,
    Uncordon,
    Wait,
    Withhold,
    judge_empty,
    judge_fence,
    judge_free,
    judge_tend,
)
from keepstep.isolator.looks import Looks
from keepstep.isolator.turns import Turns
from keepstep.ports.clock import Clock
from keepstep.ports.cluster import Census, CordonMark, Devices, Evictions, Fleet
from keepstep.ports.errors import Permanent


class WholeNodes:
    """The devices of a cluster that gives out whole nodes: none is ever withheld."""

    async def withhold(self, node: NodeName, device: str, mark: CordonMark) -> None:
        """Raise Permanent."""
        raise Permanent(f"device {device} of {node} cannot be withheld for {mark.owner}: isolate the node")

    async def give_back(self, node: NodeName, device: str) -> None:
        """Change nothing."""


AT_ONCE = 10
"""Writes under way together: an API server takes some 10 ms for each, and 200 nodes may be lost in one moment."""


class Hand:
    """Judging is one at a time, so that two requests cannot both pass the guard. Methods raise Transient.

    Of one node only one thing is done at a time. A node whose cordon fails counted as out meanwhile: at worst one that
    might just have gone is declined, never one too many taken out.
    """

    def __init__(
        self,
        fleet: Fleet,
        clock: Clock,
        *,
        tend_every: timedelta,
        devices: Devices | None = None,
        evictions: Evictions | None = None,
    ) -> None:
        """``evictions``: where anything else than keepstep's tasks runs on the nodes."""
        self._fleet = fleet
        self._devices: Devices = devices or WholeNodes()
        self._clock = clock
        self._tend_every = tend_every
        self._evictions = evictions
        self._looks = Looks(fleet)
        self._one_at_a_time = asyncio.Lock()
        self._turns = Turns()
        self._writing = asyncio.Semaphore(AT_ONCE)
        self._leaving: set[NodeName] = set()

    async def fence(self, request: Request) -> Iterable[Message]:
        """Take the node or its device out if the fleet allows it now; return the one answer."""
        async with self._turns.of(request.node):
            judged = await self._judged(request)
            try:
                match judged:
                    case Cordon(mark=mark, because=because):
                        return (await self._taken_out(request, mark, device=None, because=because),)
                    case Withhold(device=device, mark=mark, because=because):
                        return (await self._taken_out(request, mark, device=device, because=because),)
                    case Refuse(because=because):
                        return (self._declined(request, because),)
                    case other:
                        assert_never(other)
            finally:
                self._leaving.discard(request.node)

    async def _judged(self, request: Request) -> Cordon | Withhold | Refuse:
        """Judge on a fresh look; the node counts as out from here on, for those that are judged while it is written."""
        async with self._one_at_a_time:
            before = frozenset(self._leaving)  # whoever's cordon ends during the look may be seen in it without
            judged = judge_fence(await self._fleet.census(), request, leaving=before | self._leaving)
            if not isinstance(judged, Refuse):
                self._leaving.add(request.node)
            return judged

    async def _taken_out(self, request: Request, mark: CordonMark, *, device: str | None, because: str) -> Message:
        try:
            async with self._writing:
                if device is None:
                    await self._fleet.cordon(request.node, mark)
                else:
                    await self._devices.withhold(request.node, device, mark)
        except Permanent as refused:
            return self._declined(request, f"{refused}: left as it is")
        return answers.isolated(request, because=because, now=self._clock.now(), device=device)

    async def tend(self, isolation: Isolation) -> Iterable[Message]:
        """Look at what is isolated until it turns or its isolation is over; return the news."""
        seen = self._looks.begun
        while True:
            now = self._clock.now()
            look = await self._looks.newer(seen)
            seen = look.number
            match judge_tend(look.census.nodes.get(isolation.node), isolation, now=now):
                case Keep():
                    await asyncio.sleep(self._tend_every.total_seconds())
                case Turned(ready=ready):
                    return (answers.turned(isolation, ready=ready, now=now),)
                case Uncordon(because=because):
                    refused = await self._taken_back(isolation)
                    return (self._released(isolation, refused or because),)
                case Ended(because=because):
                    if isolation.device is not None:
                        await self._taken_back(isolation)  # a hand takes it off one of the two lists
                    return (self._released(isolation, because),)
                case judged:
                    assert_never(judged)

    async def empty(self, empty: Empty) -> Iterable[Message]:
        """Move what else runs on the node away until it is gone or the drain's deadline; return how that ended."""
        if self._evictions is None:
            return ()
        try:
            ended = await self._emptied(empty, self._evictions)
        except Permanent as refused:
            ended = Emptied((f"every pod: {refused}",), forced=False, because=f"not drained: {refused}")
        now = self._clock.now()
        return (answers.drained(empty.isolation, left=ended.left, forced=ended.forced, because=ended.because, now=now),)

    async def _emptied(self, empty: Empty, evictions: Evictions) -> Emptied:
        node, why = empty.isolation.node, f"drain: {empty.isolation.reason}"
        while True:
            match judge_empty(await evictions.evict(node, why=why), empty.drain, now=self._clock.now()):
                case Wait(pause=pause):
                    await asyncio.sleep(pause.total_seconds())
                case Emptied() as ended:
                    if ended.forced:
                        await evictions.drive_out(node, why=why)
                    return ended
                case judged:
                    assert_never(judged)

    async def free(self, release: Release) -> Iterable[Message]:
        """Release node or device as a person or a revised verdict asks; return the answer, after its devices."""
        async with self._turns.of(release.node):
            census = await self._fleet.census()
            freed = await self._devices_of(census, release) if release.whole else []
            match judge_free(census, release):
                case Uncordon(because=because):
                    refused = await self._taken_back(release)
                    return (*freed, self._kept(release, refused) if refused else self._released(release, because))
                case Ended(because=because):
                    return (*freed, self._released(release, because))
                case Refuse(because=because):
                    return (*freed, self._kept(release, because))
                case judged:
                    assert_never(judged)

    async def _devices_of(self, census: Census, release: Release) -> list[Message]:
        """Give every withheld device of the node back and tell each."""
        node = census.nodes.get(release.node)
        devices = [] if node is None else [one.device for one in node.withheld]
        for device in devices:
            await self._devices.give_back(release.node, device)
        return [self._device_released(release, device, release.because) for device in devices]

    async def _taken_back(self, ended: Isolation | Release) -> str:
        """Take the mark away; return why that was refused, when somebody put a mark of his own there meanwhile."""
        try:
            if ended.device is not None:
                await self._devices.give_back(ended.node, ended.device)
            else:
                await self._fleet.uncordon(ended.node, owner=OWNER)
        except Permanent as refused:
            return f"its cordon is not keepstep's any more: {refused}"
        return ""

    def _declined(self, request: Request, because: str) -> Message:
        now = self._clock.now()
        return answers.declined(request.origin, because=because, now=now, node=request.node, shared=request.shared)

    def _released(self, ended: Isolation | Release, because: str) -> Message:
        if ended.device is not None:
            return self._device_released(ended, ended.device, because)
        return answers.released(ended.origin, node=ended.node, because=because, now=self._clock.now())

    def _device_released(self, ended: Isolation | Release, device: str, because: str) -> Message:
        place: tuple[NodeName, str] = (ended.node, device)
        return answers.device_released(ended.origin, place=place, because=because, now=self._clock.now())

    def _kept(self, release: Release, because: str) -> Message:
        return answers.release_declined(release.origin, because=because, now=self._clock.now())
