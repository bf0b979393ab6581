"""A pool's stream, consumers, plan board and heartbeats in memory; it outlives every service."""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.message import Message, cloud_headers
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.subjects import subject_of
from keepstep.contracts.taxonomy import PlanPhase, Service
from keepstep.contracts.telemetry import Heartbeat
from keepstep.runtime.tail import Reading, Stored
from tests.pipeline.loop import LoopClock


class Signal:
    """Wakes whoever waits for a change."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Something changed."""
        waiting, self._event = self._event, asyncio.Event()
        waiting.set()

    async def changed(self) -> None:
        """Return at the next change."""
        await self._event.wait()


@dataclass
class Consumer:
    """What the bus knows of one durable consumer."""

    fence: int
    start: int
    acked: set[int] = field(default_factory=set)
    floor: int = 0
    deliveries: int = 0
    deleted: bool = False
    again: list[tuple[float, int]] = field(default_factory=list)

    def refuse(self, sequence: int, delay: float) -> None:
        """Deliver it again after so many seconds."""
        heapq.heappush(self.again, (asyncio.get_running_loop().time() + delay, sequence))

    def ack(self, sequence: int) -> None:
        """It is taken; a deleted consumer does not care."""
        if self.deleted:
            return
        self.acked.add(sequence)
        while self.floor + 1 in self.acked:
            self.floor += 1


class MemoryStream:
    """Messages in order; with ``remembers`` False the bus has forgotten every id, as after a long outage."""

    def __init__(self, *, remembers: bool = True) -> None:
        self.stored: list[Stored] = []
        self.said: list[Message] = []
        self.consumers: dict[Service, Consumer] = {}
        self.changed = Signal()
        self.kept = 1
        """The first sequence that is still kept."""
        self._remembers = remembers
        self._ids: set[str] = set()
        self._clock = LoopClock()

    def publish(self, message: Message) -> None:
        """Take one message, unless its id is known."""
        if self._remembers and message.id in self._ids:
            return
        self._ids.add(message.id)
        body = message.model_dump_json().encode()
        sequence = len(self.stored) + 1
        self.stored.append(Stored(sequence, self._clock.now(), subject_of(message), cloud_headers(message), body))
        self.said.append(message)
        self.changed.ring()

    async def read(self, reading: Reading, *, last: int | None = None) -> AsyncIterator[Stored]:
        """Yield what is kept and matches from the reading's first to ``last``."""
        found = [
            stored
            for stored in self.stored[max(self.kept, reading.first) - 1 : last]
            if _matches(stored.subject, reading.subject)
        ]
        if reading.last_only:
            found = list({stored.subject: stored for stored in found}.values())
        for stored in found:
            await asyncio.sleep(0)
            yield stored

    def forget(self, before: int) -> None:
        """Lose what is older than this sequence to its age."""
        self.kept = max(self.kept, before)

    async def deliver(self, consumer: Consumer) -> AsyncIterator[Stored]:
        """Yield what the consumer is to be given, again after a refusal, until it is deleted."""
        following = consumer.start
        now = asyncio.get_running_loop().time
        while not consumer.deleted:
            if consumer.again and consumer.again[0][0] <= now():
                _, sequence = heapq.heappop(consumer.again)
            elif following <= len(self.stored):
                sequence, following = following, following + 1
            else:
                wait = consumer.again[0][0] - now() if consumer.again else None
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.changed(), wait)
                continue
            consumer.deliveries += 1
            yield replace(self.stored[sequence - 1], delivery=consumer.deliveries)


def _matches(subject: str, pattern: str) -> bool:
    """Tell whether a subject matches a pattern whose wildcards come last."""
    head, _, tail = pattern.rpartition(".")
    return subject.startswith(f"{head}.") if tail in {"*", ">"} else subject == pattern


_ORDER = (PlanPhase.STOP, PlanPhase.RUN, PlanPhase.END)


class MemoryBoard:
    """The plan board; keeps every head that was ever written."""

    def __init__(self) -> None:
        self.heads: list[PlanHead] = []
        self._head: dict[JobUid, PlanHead] = {}
        self._entries: dict[tuple[JobUid, TaskUid], PlanEntry] = {}
        self._changed = Signal()

    def put_entries(self, entries: Sequence[PlanEntry]) -> None:
        """Write the entries, before their head."""
        self._entries.update({(entry.job, entry.task): entry for entry in entries})

    def put_head(self, head: PlanHead) -> None:
        """Write the head unless the board's is newer."""
        now = self._head.get(head.job)
        if now is None or place(now) <= place(head):
            self._head[head.job] = head
            self.heads.append(head)
            self._changed.ring()

    def remove(self, job: JobUid) -> None:
        """Take the plan of a job off the board, entries and head."""
        self._entries = {key: entry for key, entry in self._entries.items() if key[0] != job}
        self._head.pop(job, None)

    def is_empty(self) -> bool:
        """Tell whether no job has a plan."""
        return not self._head and not self._entries

    def is_older(self, head: PlanHead) -> bool:
        """Tell whether the board has a newer plan."""
        now = self._head.get(head.job)
        return now is not None and place(now) > place(head)

    async def read(self, job: JobUid) -> PlanHead | None:
        """Return the current head."""
        return self._head.get(job)

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return the current entry of a task."""
        return self._entries.get((job, task))

    async def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the head and its changes."""
        last = None
        while True:
            head = self._head.get(job)
            if head is not None and head is not last:
                last = head
                yield head
            else:
                await self._changed.changed()


def place(head: PlanHead) -> tuple[int, int]:
    """Return a plan's place in its job's life."""
    return head.generation, _ORDER.index(head.phase)


class MemoryTelemetry:
    """Heartbeats: heard by whoever listens now."""

    outages = 0
    connected = True

    def __init__(self) -> None:
        self._ears: list[Callable[[Heartbeat], None]] = []

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Send one."""
        for ear in self._ears:
            ear(heartbeat)

    async def hear(self, handler: Callable[[Heartbeat], None]) -> None:
        """Listen until cancelled."""
        self._ears.append(handler)
        try:
            await asyncio.Event().wait()
        finally:
            self._ears.remove(handler)
