"""Following a stream from the outside, without acknowledging: for boards, listings and people who watch."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from keepstep.adapters.nats_errors import translated
from keepstep.adapters.turns import Turns
from keepstep.runtime.connection import RECONNECT_WAIT_S, Link

CHECK_S = 30.0
"""How long silence is believed before the server is asked whether it still knows this reader."""
READ_S = 5.0
"""How long a message that is known to be there may take; the bus is away then."""
GIVE_WAY = 4
"""Messages taken in a row, about a millisecond: where many wait in the client's queue the next one is there at once, so
that nothing else gives way to answers, timers and other services; of these ten may have as many."""


@dataclass(frozen=True)
class Stored:
    """One message as the stream has it."""

    sequence: int
    time: datetime
    subject: str
    headers: dict[str, str]
    body: bytes
    pending: int = 0
    """How many messages of the same reading were still to come."""
    delivery: int = 0
    """Which delivery of its consumer this is, counted from 1."""

    @classmethod
    def of(cls, message: Msg) -> "Stored":
        """Read the server's own account of a delivery; raises NotJSMessageError for what no stream delivered."""
        known = message.metadata
        return cls(
            sequence=known.sequence.stream,
            time=known.timestamp,
            subject=message.subject,
            headers=dict(message.headers or {}),
            body=message.data,
            pending=known.num_pending,
            delivery=known.sequence.consumer,
        )

    @property
    def place(self) -> int | str:
        """What tells it from other messages: its sequence, or its id where it never got into the stream."""
        return self.sequence or self.headers.get("ce-id", "")


@dataclass(frozen=True)
class Reading:
    """What to read: messages of ``stream`` on ``subject`` from ``first`` on, or only the last one of each subject.

    ``only`` names several patterns of subjects instead, so that the server leaves out all others.
    """

    stream: str
    subject: str
    first: int = 1
    last_only: bool = False
    only: tuple[str, ...] = ()


async def read(js: JetStreamContext, reading: Reading, *, last: int | None = None) -> AsyncIterator[Stored]:
    """Yield what is there now, up to ``last``, and end. Raises Transient if the bus goes away meanwhile."""
    with translated(f"reading {reading.stream}"):
        async with _subscribed(js, reading) as (subscription, arrivals):
            info = await subscription.consumer_info()
            left = (info.num_pending or 0) + (info.delivered.consumer_seq if info.delivered else 0)
            turns = Turns(GIVE_WAY)
            while left:
                async with asyncio.timeout(READ_S):
                    stored = Stored.of(await arrivals.get())
                if last is not None and stored.sequence > last:
                    return
                yield stored
                left = min(left - 1, stored.pending)
                await turns.done()


async def follow(
    js: JetStreamContext, link: Link, reading: Reading, *, patience_s: float = 0.0
) -> AsyncIterator[Stored]:
    """Yield what is there and then everything new, for ever; what comes after a silence is left lying ``patience_s``.

    A reader is forgotten by a server that restarts, and what was on its way is gone; so after every recovery of the
    link a new one starts after the last message that was yielded.
    """
    turns = Turns(GIVE_WAY)
    while True:
        recoveries = link.recoveries
        with suppress(Error, OSError, TimeoutError):
            async with _subscribed(js, reading) as (subscription, arrivals):
                while link.recoveries == recoveries:
                    silent = arrivals.empty()
                    message = await _next(subscription, arrivals, link, recoveries)
                    if message is None:
                        continue
                    if silent and patience_s:
                        await asyncio.sleep(patience_s)
                    stored = Stored.of(message)
                    yield stored
                    await turns.done()
                    if not reading.last_only:
                        reading = replace(reading, first=stored.sequence + 1)
        if link.recoveries == recoveries:
            await asyncio.sleep(RECONNECT_WAIT_S)


@asynccontextmanager
async def _subscribed(
    js: JetStreamContext, reading: Reading
) -> AsyncIterator[tuple[JetStreamContext.PushSubscription, asyncio.Queue[Msg]]]:
    """Subscribe with a callback: nats-py counts what ``next_msg`` takes as pending for ever and then drops."""
    arrivals: asyncio.Queue[Msg] = asyncio.Queue()
    subscription = await js.subscribe(
        reading.subject, stream=reading.stream, cb=arrivals.put, config=_config(reading), manual_ack=True
    )
    try:
        yield subscription, arrivals
    finally:
        with suppress(Error):
            await subscription.unsubscribe()


async def _next(
    subscription: JetStreamContext.PushSubscription, arrivals: asyncio.Queue[Msg], link: Link, recoveries: int
) -> Msg | None:
    """Return the next message, or None after a recovery; raises NotFoundError when the server forgot the reader."""
    if not arrivals.empty():
        return arrivals.get_nowait()
    arriving = asyncio.ensure_future(arrivals.get())
    recovering = asyncio.ensure_future(link.next_recovery(recoveries))
    try:
        await asyncio.wait({arriving, recovering}, timeout=CHECK_S, return_when=asyncio.FIRST_COMPLETED)
        if not arriving.done() and not recovering.done():
            await subscription.consumer_info()
        return arriving.result() if arriving.done() else None
    finally:
        arriving.cancel()
        recovering.cancel()


def _config(reading: Reading) -> ConsumerConfig:
    if reading.last_only:
        policy, start = DeliverPolicy.LAST_PER_SUBJECT, None
    else:
        policy, start = DeliverPolicy.BY_START_SEQUENCE, max(1, reading.first)
    # With a name of its own the request's subject tells the filter, by which the server keeps readers to their keys.
    name = f"reader-{secrets.token_hex(8)}"
    return ConsumerConfig(
        name=name,
        deliver_policy=policy,
        opt_start_seq=start,
        ack_policy=AckPolicy.NONE,
        mem_storage=True,
        filter_subjects=list(reading.only) or None,
    )
