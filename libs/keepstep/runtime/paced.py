"""Reading a stream at the reader's own pace: the server goes on once what it sent was taken in.

``tail`` is sent everything as fast as the server can; whoever folds a month of a pool would hold half of it in memory.
The server's flow control does it, answered here when its request is come to among the messages: nats-py answers it
when the message before it was handed over, which with a queue behind that is at once or, where it is late, after a
heartbeat. Not by pulling: a pull names the subject that it is answered on, raw, and so could speak under any name.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from nats.aio.client import Client as NatsConnection
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, Header

from keepstep.adapters.nats_errors import translated
from keepstep.runtime.connection import RECONNECT_WAIT_S, Link
from keepstep.runtime.tail import Reading, Stored

HEARTBEAT_S = 5.0
"""How often the server says that it has nothing new."""
SILENT_S = 15.0
"""After which it no longer knows this reader: three heartbeats."""
_DELIVERED = "$JS.ACK."
_ASKED = "$JS.FC."

Arrivals = asyncio.Queue[Msg]


async def paced(
    connection: NatsConnection, js: JetStreamContext, link: Link, reading: Reading, *, patience_s: float = 0.0
) -> AsyncIterator[Stored]:
    """Yield what is there and then everything new, for ever; outages end nothing, as in ``tail.follow``.

    What comes after a silence is left lying ``patience_s``.
    """
    while True:
        recoveries = link.recoveries
        with suppress(Error, OSError, TimeoutError):
            async with _sent(connection, js, reading) as (arrivals, _):
                silent = arrivals.empty()
                while (message := await _next(arrivals, link, recoveries)) is not None:
                    if (stored := await _taken(connection, message)) is None:
                        continue
                    if silent and patience_s:
                        await asyncio.sleep(patience_s)
                    yield stored
                    reading, silent = replace(reading, first=stored.sequence + 1), arrivals.empty()
        if link.recoveries == recoveries:
            await asyncio.sleep(RECONNECT_WAIT_S)  # refused or forgotten while the connection stands


async def window(
    connection: NatsConnection, js: JetStreamContext, reading: Reading, *, last: int
) -> AsyncIterator[Stored]:
    """Yield what is there now from ``reading.first`` to ``last``. Raises Transient if the bus goes away meanwhile."""
    with translated(f"reading {reading.stream}"):
        async with _sent(connection, js, reading) as (arrivals, there):
            left = there
            while left:
                async with asyncio.timeout(SILENT_S):
                    message = await arrivals.get()
                stored = await _taken(connection, message)
                if stored is None:
                    continue
                if stored.sequence > last:
                    return
                yield stored
                left = min(left - 1, stored.pending)


@asynccontextmanager
async def _sent(
    connection: NatsConnection, js: JetStreamContext, reading: Reading
) -> AsyncIterator[tuple[Arrivals, int]]:
    """Have the messages sent into a queue; yields it and how many there are now."""
    inbox = connection.new_inbox()
    arrivals: Arrivals = asyncio.Queue()
    subscription = await connection.subscribe(inbox, cb=arrivals.put)
    # With a name of its own the request's subject tells the filter, as in ``tail``.
    config = ConsumerConfig(
        name=f"reader-{secrets.token_hex(8)}", deliver_subject=inbox, filter_subject=reading.subject,
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=max(1, reading.first),
        ack_policy=AckPolicy.NONE, mem_storage=True, flow_control=True, idle_heartbeat=HEARTBEAT_S,
    )  # fmt: skip
    try:
        info = await js.add_consumer(reading.stream, config=config)
        yield arrivals, (info.num_pending or 0) + (info.delivered.consumer_seq if info.delivered else 0)
    finally:
        with suppress(Error):
            await subscription.unsubscribe()


async def _taken(connection: NatsConnection, message: Msg) -> Stored | None:
    """Return a message of the stream; None for the server's own words, of which a request to go on is answered."""
    if message.reply.startswith(_DELIVERED):
        return Stored.of(message)
    stalled = (message.headers or {}).get(Header.CONSUMER_STALLED.value, "")
    for asked in (message.reply, stalled):
        if asked.startswith(_ASKED):
            await connection.publish(asked)
    return None


async def _next(arrivals: Arrivals, link: Link, recoveries: int) -> Msg | None:
    """Return the next message, None after a recovery; raises TimeoutError where the server forgot the reader."""
    if link.recoveries != recoveries:
        return None
    if not arrivals.empty():
        return arrivals.get_nowait()
    arriving = asyncio.ensure_future(arrivals.get())
    recovering = asyncio.ensure_future(link.next_recovery(recoveries))
    try:
        done, _ = await asyncio.wait({arriving, recovering}, timeout=SILENT_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise TimeoutError("the server no longer answers this reader")
        return arriving.result() if arriving.done() else None
    finally:
        arriving.cancel()
        recovering.cancel()
