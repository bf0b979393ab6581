"""The ledger: a pool's figures, kept by the active instance of one service, written down now and then.

It reads the stream by itself and late, so that no decision waits for it. What is written goes on where it stood after
a restart or a take-over, so that counters never fall; a ledger that the store lost is counted again from the stream,
which reaches back a month. Nothing is shown before the ledger is up to date, so that no replay looks like a rise.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from pydantic import ValidationError
from structlog.typing import FilteringBoundLogger

from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Service
from keepstep.core import tracing
from keepstep.core.figures import Figures, heard, tell
from keepstep.core.tracing import TRACED, Traces
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Conflict, Fenced, KeepstepError
from keepstep.ports.store import Store
from keepstep.ports.tracer import Tracer
from keepstep.runtime import names
from keepstep.runtime.app import App, Context
from keepstep.runtime.client import Client
from keepstep.runtime.fold import parsed
from keepstep.runtime.intake import Heard, recognise
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.pace import Pace
from keepstep.runtime.packing import pack, unpack
from keepstep.runtime.tail import Reading, Stored, follow, read
from keepstep.runtime.tasks import end

S = TypeVar("S", bound=Frozen)

KEPT_BY = Service.NOTIFIER
"""No recovery waits for this service, and it may read everything."""
PATIENCE_S = 1.0
"""Nobody scrapes faster; what comes after a silence is counted that much later, with what came meanwhile."""
KEY = "figures"
"""In the store, beside the folds of the service."""

TRACED_AGAIN = timedelta(hours=1)
"""A replay completes no spans of messages older than this: they were exported long ago."""


class Written(Frozen):
    """What stands in the store."""

    fence: int
    applied: int
    stream: str
    figures: str
    """Its JSON, packed if long."""


@dataclass(frozen=True)
class Around:
    """What the ledger is given by its process."""

    client: Client
    store: Store
    clock: Clock
    metrics: Metrics
    log: FilteringBoundLogger
    pace: Pace
    tracer: Tracer | None = None
    shown: bool = True
    """Whether anybody may ask for figures; else only spans are completed."""


def with_ledger(app: App[S], around: Around, *, fence: int) -> App[S]:
    """Return the app, which keeps the ledger beside its stage if it is the one that does."""
    if app.service is not KEPT_BY:
        return app
    ledger = Ledger(around, fence=fence)

    async def keep(_context: Context[S]) -> None:
        await ledger.keep()

    return replace(app, background=(*app.background, keep))


class Ledger:
    """The figures of one activation under one fencing number."""

    def __init__(self, around: Around, *, fence: int) -> None:
        self._around = around
        self._fence = fence
        self._figures = Figures()
        self._applied = 0
        self._saved = 0
        self._revision: int | None = None
        self._traces: Traces = {}
        self._heard = heard() if around.tracer is None else tuple(dict.fromkeys((*heard(), *TRACED)))

    async def keep(self) -> None:
        """Count for ever and show the figures meanwhile; raises Fenced once a successor writes, Transient cut off."""
        around, client = self._around, self._around.client
        stream = await client.identity()
        last = await client.last_sequence()
        await self._load(stream, last)
        try:
            async for stored in read(client.js, self._reading(), last=last):
                self._count(stored)
            self._applied = max(self._applied, last)
            if around.shown:
                around.metrics.figures.show(lambda: (self._figures, around.clock.now()))
            await _first_of(self._write_down(stream), self._follow())
        finally:
            around.metrics.figures.show(None)

    async def _follow(self) -> None:
        client = self._around.client
        async for stored in follow(client.js, client.link, self._reading(), patience_s=PATIENCE_S):
            self._count(stored)

    def _reading(self) -> Reading:
        pool = self._around.client.pool
        kinds = tuple(names.kind_subjects(pool, (kind.__name__ for kind in self._heard)))
        return Reading(names.stream_name(pool), names.stream_subjects(pool), first=self._applied + 1, only=kinds)

    def _count(self, stored: Stored) -> None:
        """Count a message; what nobody can read is the business of the service whose message it is."""
        match recognise(stored, self._heard):
            case Heard(message):
                self._trace(stored, message)
                if isinstance(message, heard()):
                    self._figures = tell(self._figures, message)
            case _:
                pass
        self._applied = max(self._applied, stored.sequence)

    def _trace(self, stored: Stored, message: Message) -> None:
        """Hand on the spans that the message completes; the same ones again after a crash, under the same ids."""
        tracer = self._around.tracer
        if tracer is None or stored.time < self._around.clock.now() - TRACED_AGAIN:
            return
        known = self._figures.open.get(message.incident) if message.incident is not None else None
        occurred = None if known is None else known.occurred
        self._traces, spans = tracing.tell(self._traces, message, stored.headers, occurred=occurred)
        for span in spans:
            tracer.add(span)

    async def _load(self, stream: str, last: int) -> None:
        """Go on from what was written, unless that is of another stream, or of one that was put back since."""
        self._figures, self._applied, self._saved, self._revision = Figures(), 0, 0, None
        held = await self._around.store.load(KEY)
        if held is None:
            return
        self._revision = held.revision
        found = parsed(Written, held.value)
        if found is None or found.stream != stream or found.applied > last:
            return
        if found.fence > self._fence:
            raise Fenced(f"the figures were written under lease {found.fence}, this is {self._fence}")
        try:
            self._figures = Figures.model_validate_json(unpack(found.figures))
        except (ValidationError, ValueError):
            return
        self._applied = self._saved = found.applied

    async def _write_down(self, stream: str) -> None:
        while True:
            await asyncio.sleep(self._around.pace.mark_s)
            if self._applied == self._saved:
                continue
            try:
                await self._write(stream)
            except (Conflict, Fenced):
                raise
            except KeepstepError as error:
                self._around.log.warning("figures not written", because=str(error))

    async def _write(self, stream: str) -> None:
        applied, packed = self._applied, pack(self._figures.model_dump_json())
        written = Written(fence=self._fence, applied=applied, stream=stream, figures=packed)
        self._revision = await self._around.store.save(KEY, written.model_dump_json().encode(), revision=self._revision)
        self._saved = applied


async def _first_of(*work: Coroutine[None, None, None]) -> None:
    """Return when one is done, raising what it raised; a task group cancels but once, which may be forgotten."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        await end(tasks)
