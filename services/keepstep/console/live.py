"""Keeps the model current: reads the stream from its beginning, hears heartbeats, looks at the cluster's nodes.

One task folds, in the loop that also serves; it gives way every few messages, so that a start with a month to read
answers meanwhile, and says that it is not caught up.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from itertools import islice
from time import monotonic
from typing import TypeGuard

from keepstep.adapters.turns import Turns
from keepstep.console.hub import Hub
from keepstep.console.model.pool import PoolModel
from keepstep.console.model.recent import MACHINERY, Wanted, event_view
from keepstep.console.views import EventListing, EventView
from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.telemetry import Heartbeat
from keepstep.ports.cluster import NodeStatus
from keepstep.ports.errors import KeepstepError
from keepstep.runtime.client import Client, Said
from keepstep.runtime.failsafe import guarded
from keepstep.runtime.log import logger
from keepstep.runtime.tasks import end

GIVE_WAY = 8
"""Messages folded in a row: one or two milliseconds."""
TICK_S = 1.0
"""How often heartbeats are taken stock of: as fast as people read, and as agents beat."""
LOOK_S = 5.0
"""How often the cluster is asked for its nodes."""
WINDOW = 500
"""Messages of the stream that one query reads at most of what is no longer at hand, a fifth of a second's work; its
answer names the cursor to go on from."""
PART = 100
"""Of them that are read together: a look at the time follows, since a machine with much to do is five times as slow."""
SEARCH_S = 0.15
"""After which a query reads no further part, so that nobody waits for long, whatever the machine does besides."""

Fleet = Callable[[], Awaitable[Mapping[NodeName, NodeStatus]]]


class Live:
    """The model of one pool, kept current over one connection."""

    def __init__(
        self, client: Client, model: PoolModel, hub: Hub, *, now: Callable[[], datetime], fleet: Fleet | None = None,
        patience_s: float = 0.0, monotonic: Callable[[], float] = monotonic,
    ) -> None:  # fmt: skip
        self.client, self.model, self.hub, self._now = client, model, hub, now
        self._monotonic = monotonic
        self._fleet, self._patience_s = fleet, patience_s
        self._log = logger("console")
        self.unreadable = 0
        """Messages of types or words that this version does not know, or that lie about their subject."""
        self.stumbled = 0
        """Messages on which the model stumbled: a bug of ours, each."""
        self.caught_up = False
        """All that the stream held at the start has been read."""
        self._end = 0
        self.window = WINDOW

    @property
    def connected(self) -> bool:
        """Whether the bus can be reached now."""
        return self.client.link.connected

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the model current for the block."""
        works: list[Callable[[], Awaitable[None]]] = [self._follow, self._listen, self._tick]
        if self._fleet is not None:
            works.append(partial(self._look, self._fleet))
        tasks = [asyncio.ensure_future(self._told(work)) for work in works]
        try:
            yield
        finally:
            self.hub.close()
            await end(tasks)

    async def _told(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except KeepstepError as error:
            self._log.error("the console no longer follows", because=str(error))
            raise

    async def _follow(self) -> None:
        """Fold the stream for ever."""
        self._end = await self._last()
        self.caught_up = self._end == 0
        turns = Turns(GIVE_WAY)
        async for said in self.client.paced(patience_s=self._patience_s):
            self.hear(said)
            await turns.done()

    async def _last(self) -> int:
        """Return the end of the stream, as soon as the bus and the stream are there."""
        while True:
            try:
                return await self.client.last_sequence()
            except KeepstepError:
                await asyncio.sleep(TICK_S)  # whoever provisions the pool has not come yet

    def hear(self, said: Said) -> None:
        """Take in one message and hand it on."""
        if said.message is None:
            self.unreadable += 1
        else:
            self._fold(said.message, said.sequence)
        self.caught_up = self.caught_up or said.sequence >= self._end

    def _fold(self, message: Message, sequence: int) -> None:
        """Fold a message; one on which the model stumbles is told and left out, and the others are shown."""
        with guarded() as outcome:
            if (event := self.model.hear(message, sequence)) is not None:
                self.hub.tell(event)
        if outcome.error is not None:
            self.stumbled += 1
            self._log.error("a message was left out", sequence=sequence, exc_info=outcome.error)

    async def _listen(self) -> None:
        while True:
            try:
                await self.client.telemetry.hear(self._felt)
            except KeepstepError as error:
                self._log.warning("heartbeats cannot be heard", because=str(error))
                await asyncio.sleep(TICK_S)  # the bus is away; its recovery is not told here

    def _felt(self, beat: Heartbeat) -> None:
        self.model.feel(beat, self._now())

    async def _tick(self) -> None:
        before: dict[str, object] = {}
        while True:
            self.model.tick(self._now())
            now = self._progress()
            changed = {uid: line for uid, line in now.items() if before.get(uid) != line}
            if changed and len(self.hub):
                self.hub.cast("progress", json.dumps(list(changed.values())))
            before = now
            await asyncio.sleep(TICK_S)

    def _progress(self) -> dict[str, object]:
        """Return of every living job what a line of a listing shows of it."""
        return {
            job.ref.uid: {
                "uid": job.ref.uid,
                "name": job.ref.name,
                "state": job.known.view.state.value,
                "step": job.known.view.newest_step,
                "steps_per_s": job.known.view.steps_per_s,
            }
            for job in self.model.jobs
            if not job.ended
        }

    async def _look(self, fleet: Fleet) -> None:
        failed = ""
        while True:
            try:
                if self.model.fleet(await fleet(), self._now()):
                    self.hub.cast("nodes", "{}")
                failed = ""
            except KeepstepError as error:
                if str(error) != failed:
                    self._log.warning("the cluster's nodes cannot be read", because=str(error))
                failed = str(error)
            await asyncio.sleep(LOOK_S)

    async def events(self, wanted: Wanted, *, before: int | None, limit: int) -> EventListing:
        """Return events below a cursor, newest first: those at hand, then a window of the stream.

        Raises Transient if the bus is away and what is at hand does not do.
        """
        recent = self.model.recent
        found = recent.listing(wanted, before=before, limit=limit)
        cursor = recent.oldest if before is None else min(recent.oldest, before)
        if len(found.items) < limit and cursor > 1:
            found = await self._older(found.items, wanted, cursor, limit)
        elif len(found.items) == limit and cursor > 1:
            found = found.model_copy(update={"next": found.items[-1].cursor})
        return found.model_copy(update={"caught_up": self.caught_up})

    async def _older(self, newer: tuple[EventView, ...], wanted: Wanted, cursor: int, limit: int) -> EventListing:
        """Return the newer events with those of the stream below the cursor: as many as are asked for, or as are found.

        It looks at a part after the other, at one at least, until the window or the time is over.
        """
        begin = await self.client.first_sequence()
        floor, until, test = max(begin, cursor - self.window), self._monotonic() + SEARCH_S, wanted.test()
        items, since = [*newer], None
        while cursor > floor and len(items) < limit:
            first = max(floor, cursor - PART)
            said = [one async for one in self.client.window(first=first, last=cursor - 1)]
            shown = (event_view(one.message, one.sequence) for one in reversed(said) if _is_news(one.message))
            items += islice((event for event in shown if test(event)), limit - len(items))
            since, cursor = said[0].time if said else since, first
            if self._monotonic() >= until:
                break
        full = len(items) == limit
        went_on = items[-1].cursor if full else cursor
        return EventListing(
            items=tuple(items), next=went_on if went_on > begin else None, since=None if full else since
        )


def _is_news(message: Message | None) -> TypeGuard[Message]:
    """Return whether a message can be read, and is more than what services say to themselves."""
    return message is not None and not isinstance(message, MACHINERY)
