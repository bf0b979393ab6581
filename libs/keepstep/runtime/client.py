"""One connection to one pool, for agents, the command line and, underneath, the services.

Needs the base install only: agents run where nothing of the services is installed.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from nats.aio.client import Client as NatsConnection
from nats.errors import MaxPayloadError, StaleConnectionError
from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError
from pydantic import ValidationError

from keepstep.adapters.nats_errors import translated
from keepstep.contracts import events, orders
from keepstep.contracts.ids import Pool, subject_token
from keepstep.contracts.message import Message, messages
from keepstep.contracts.model import mistakes
from keepstep.contracts.subjects import former_subject
from keepstep.ports.errors import Permanent, Transient
from keepstep.runtime import batch, names
from keepstep.runtime.bindings import NatsBindings
from keepstep.runtime.connection import Link, connect, hang_up
from keepstep.runtime.deadletter import DeadLetters
from keepstep.runtime.intake import subject_of
from keepstep.runtime.letter import letter
from keepstep.runtime.login import Login
from keepstep.runtime.paced import paced, window
from keepstep.runtime.plans import NatsPlanBoard
from keepstep.runtime.provision import provision
from keepstep.runtime.rights_of_pods import API
from keepstep.runtime.tail import Reading, Stored, follow, read
from keepstep.runtime.tasks import side_by_side
from keepstep.runtime.telemetry import NatsTelemetry

M = TypeVar("M", bound=Message)

KNOWN_IN = (events, orders)
"""The modules whose messages this version can read; importing them fills the registry."""
REQUEST_S = 2.0
"""An answer of the bus takes below 1 ms; after this long the same request is sent again."""
SIDE_BY_SIDE = 64
"""Messages on their way at once: at a busy disk's 16 ms for each, all are answered within REQUEST_S. Of thousands said
at once none was: each asked again, and the bus had ever more to do."""
JETSTREAM = "$JS.API"
FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 2.0


@dataclass(frozen=True)
class Said:
    """One message of the stream with its place in it; ``message`` is None where this version cannot read it."""

    sequence: int
    time: datetime
    subject: str
    message: Message | None
    body: bytes


class Client:
    """What a participant of a pool can do: say, read, follow, and see plans, bindings, heartbeats and dead letters."""

    def __init__(self, connection: NatsConnection, link: Link, pool: Pool, *, api: str = JETSTREAM) -> None:
        self.connection = connection
        self.link = link
        self.pool = pool
        self._api = api
        self._turns = {about_job: asyncio.Semaphore(SIDE_BY_SIDE) for about_job in (True, False)}
        self.js = connection.jetstream(timeout=REQUEST_S, prefix=api)
        self.plans = NatsPlanBoard(self.js, link, pool)
        self.bindings = NatsBindings(self.js, link, pool)
        self.telemetry = NatsTelemetry(connection, link, pool)
        self.dead_letters = DeadLetters(self.js, pool, most=lambda: connection.max_payload)

    @classmethod
    async def open(cls, url: str, pool: Pool, *, name: str, within: timedelta | None = None) -> "Client":
        """Connect to the bus; raises Transient if it was not reached ``within`` that time (None: waits for ever)."""
        connection, link = await connect(url, name=name, within=within)
        return cls(connection, link, pool)

    @classmethod
    async def knock(cls, url: str, pool: Pool, *, name: str, login: Login) -> "Client":
        """Connect as an agent whom the gate lets in, however long that takes."""
        connection, link = await connect(url, name=name, login=login)
        return cls(connection, link, pool, api=API)

    async def close(self) -> None:
        """Hang up; what was said and acknowledged is safe."""
        await hang_up(self.connection)

    async def provision(self, *, replicas: int = 1) -> None:
        """Create what the pool lacks, on so many servers of the bus. Raises Transient while the bus is away."""
        await provision(self.js, self.pool, replicas=replicas)

    async def publish(self, message: Message) -> None:
        """Put the message into the stream, one try; raises Transient unless the stream has it now.

        Raises Permanent for one without a subject or too large, before the server ends the connection over that.
        The message's id is the bus's too, so that a second try within the bus's window is not stored twice.
        """
        sent = letter(message)
        with translated(f"saying {sent.kind}"):
            if sent.weight > self.connection.max_payload:
                raise MaxPayloadError
            if not self.connection.is_connected:
                raise StaleConnectionError  # for what it refuses while cut off the client keeps a place for ever
            answer = await self.js.publish_async(sent.subject, sent.body, headers=sent.headers)
            await self.link.answered(answer, within_s=REQUEST_S)

    async def say(self, message: Message) -> None:
        """Publish, again and again with the same id, until the stream has it; Permanent if it never will.

        The answer to a try that the connection did not survive never comes, so its recovery calls the next one.
        What many say at once goes out SIDE_BY_SIDE, of jobs and of what hurts none: a job's does not wait for a flood
        about nodes. No wait for a turn counts as a try.
        """
        wait = FIRST_WAIT_S
        while True:
            recoveries = self.link.recoveries
            try:
                async with self._turns[message.job is not None]:
                    await self.publish(message)
            except Transient:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self.link.next_recovery(recoveries)
                wait = min(wait * 2, LONGEST_WAIT_S)
            else:
                return

    async def say_together(self, messages: Sequence[Message]) -> None:
        """Say at most ``batch.MOST`` messages, in one write where the bus takes that, else side by side.

        Those that it had before count as said. Raises Permanent as ``publish`` does, when some may have been said.
        """
        letters = [letter(message) for message in messages]
        room = self.connection.max_payload - batch.HEADERS
        if len(letters) > 1 and all(one.weight <= room for one in letters):
            with suppress(Transient):  # what became of them nobody knows, and saying them again does no harm
                if await batch.put(self.connection, letters):
                    return
        await side_by_side(self.say, messages, most=SIDE_BY_SIDE)

    async def read(self, *, first: int = 1, last: int | None = None, kind: str = "*") -> AsyncIterator[Said]:
        """Yield what the stream holds now from sequence ``first`` to ``last``; raises Transient if cut off."""
        async for stored in read(self.js, self._reading(first, kind), last=last):
            yield _said(stored)

    async def follow(self, *, first: int = 1, kind: str = "*", patience_s: float = 0.0) -> AsyncIterator[Said]:
        """Yield from ``first`` on and then everything new, for ever; outages end nothing.

        ``patience_s`` is for who shares a process with the services and is in no hurry: what comes after a silence is
        taken up that much later, together with what came meanwhile.
        """
        async for stored in follow(self.js, self.link, self._reading(first, kind), patience_s=patience_s):
            yield _said(stored)

    async def paced(self, *, first: int = 1, patience_s: float = 0.0) -> AsyncIterator[Said]:
        """Yield from ``first`` on and then everything new, for ever, as fast as it is taken in and no faster.

        ``patience_s`` as of ``follow``.
        """
        reading = self._reading(first, "*")
        async for stored in paced(self.connection, self.js, self.link, reading, patience_s=patience_s):
            yield _belonging(stored)

    async def window(self, *, first: int, last: int) -> AsyncIterator[Said]:
        """Yield what the stream holds from one sequence to another, and nothing beyond; raises Transient if cut off."""
        reading = self._reading(first, "*")
        async for stored in window(self.connection, self.js, reading, last=last):
            yield _belonging(stored)

    async def latest(self, kind: type[M], key: str) -> M | None:
        """Return the newest message of a type about one key, or None. Raises Transient if cut off."""
        former = f"keepstep.{subject_token(self.pool)}.{kind.__name__}.{subject_token(key)}"
        found = [one for subject in (former, f"{former}.>") if (one := await self._last(subject)) is not None]
        if not found:
            return None
        newest = max(found, key=lambda one: one.seq or 0)
        try:
            return kind.read(newest.data or b"")
        except ValidationError as error:
            raise Permanent(f"the latest {kind.__name__} of {key} cannot be read: {mistakes(error)}") from error

    async def _last(self, subject: str) -> RawStreamMsg | None:
        with translated(f"reading the latest of {subject}"):
            try:
                return await self.js.get_msg(names.stream_name(self.pool), subject=subject)
            except NotFoundError:
                return None

    async def last_sequence(self) -> int:
        """Return the sequence of the newest message of the stream; 0 when it is empty."""
        with translated("asking for the stream's end"):
            return (await self.js.stream_info(names.stream_name(self.pool))).state.last_seq

    async def first_sequence(self) -> int:
        """Return the sequence of the oldest message that the stream holds, or would hold next. Raises Transient."""
        with translated("asking for the stream's beginning"):
            return (await self.js.stream_info(names.stream_name(self.pool))).state.first_seq

    async def identity(self) -> str:
        """Return what tells the stream from one that was made anew: its time of creation. Raises Transient."""
        with translated("asking which stream this is"):
            created = (await self.js.stream_info(names.stream_name(self.pool))).created
        return created.isoformat() if created else ""

    async def time(self) -> datetime:
        """Return the bus's time of day. Raises Transient if cut off, or where the server does not say."""
        stream = f"KV_{names.plans_bucket(self.pool)}"  # of which everybody may know that it is there
        with translated("asking for the bus's time"):
            told = await self.connection.request(f"{self._api}.STREAM.INFO.{stream}", b"", timeout=REQUEST_S)
        try:
            return datetime.fromisoformat(json.loads(told.data)["ts"])
        except (ValueError, KeyError, TypeError) as error:
            raise Transient(f"asking for the bus's time: it is not in the answer ({error!r})") from error

    async def fill(self) -> float:
        """Return the stream's bytes over its limit, 0 without one. Raises Transient if cut off."""
        with translated("asking how full the stream is"):
            info = await self.js.stream_info(names.stream_name(self.pool))
        limit = info.config.max_bytes or -1
        return info.state.bytes / limit if limit > 0 else 0.0

    def _reading(self, first: int, kind: str) -> Reading:
        return Reading(names.stream_name(self.pool), names.event_subjects(self.pool, kind), first=first)


def _belonging(stored: Stored) -> Said:
    """Return the message, unread where its body belongs under another subject: of another pool, key or speaker."""
    said = _said(stored)
    if said.message is None or said.subject in (belongs := subject_of(said.message), former_subject(belongs)):
        return said
    return replace(said, message=None)


def _said(stored: Stored) -> Said:
    model = messages().get(stored.subject.split(".")[2])
    message: Message | None = None
    if model is not None:
        try:
            message = model.read(stored.body)
        except ValidationError:
            message = None
    return Said(stored.sequence, stored.time, stored.subject, message, stored.body)
