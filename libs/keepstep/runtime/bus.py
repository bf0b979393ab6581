"""The bus as services use it; the only file that knows FastStream.

Each activation of a service makes a durable consumer of its own, ``<service>-<fence>``, that starts after the last
message its predecessor had acknowledged without a gap: what was in flight comes again in the stream's order, which
redelivery by the old consumer would not give. The subscription is FastStream's push one: its messages arrive one by
one in order (a pull subscriber hands a batch to concurrent tasks, a batch subscriber waits for the batch to fill), it
resumes first after an outage, and that it cannot be shared is what is wanted here. Each delivery goes straight to its
taker: what FastStream does around a handler took a quarter of the CPU of a burst, and none of it was used here.
"""

import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from faststream import AckPolicy
from faststream.message import StreamMessage
from faststream.nats import JStream, NatsBroker
from faststream.nats.security import NatsSecurity
from faststream.nats.subscriber import PushStreamSubscriber
from nats.aio.client import Callback, ErrorCallback
from nats.aio.client import Client as NatsConnection
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import AckPolicy as StreamAck
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from keepstep.adapters.nats_errors import translated
from keepstep.adapters.turns import Turns
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Transient
from keepstep.runtime import names
from keepstep.runtime.address import parse
from keepstep.runtime.arrival import Receipt
from keepstep.runtime.client import Client
from keepstep.runtime.connection import MAX_PINGS, PENDING_BYTES, PING_INTERVAL_S, RECONNECT_WAIT_S, Link, hang_up
from keepstep.runtime.pace import Pace
from keepstep.runtime.stored_msg import hand_over_whatever_comes
from keepstep.runtime.tail import Stored

IN_FLIGHT = 5_000
"""Unanswered messages per service: so many may wait behind a held key before other keys are held up too. All of them
are some seconds' work to read; with 20,000 of six services on one loop the answer to a ping lay behind ten seconds of
it, the connection was given up, and all came again."""
GIVE_WAY = 64
"""Messages put into their lanes in a row, some ten milliseconds: where many wait in the client's queue the next one is
there at once, so that nothing else gives way. No fewer: each of a flood's thousands has to be taken before the word of
a rank behind them is seen, and meanwhile every lane has its turn as well."""
GRACE_S = 2.0
"""For handlers at the end; ours only put a message into a lane."""
SUBSCRIBE_S = 10.0
"""For the server to make a consumer and to take older ones away; where all start on two cores, that takes seconds."""

Taker = Callable[[Stored, Receipt], Awaitable[None]]


class _Broker(NatsBroker):
    """FastStream's broker without its error callback, which ends reconnecting for good on an authorization timeout."""

    def _log_connection_broken(self, error_cb: ErrorCallback | None = None) -> ErrorCallback:
        assert error_cb is not None, "the bus always gives its own"  # noqa: S101 - narrows a type
        return error_cb

    def _log_reconnected(self, cb: Callback | None = None) -> Callback:
        assert cb is not None, "the bus always gives its own"  # noqa: S101 - narrows a type
        return cb


@dataclass(frozen=True)
class Place:
    """Where a new consumer starts: after ``floor``, up to which everything was acknowledged."""

    floor: int
    stream: str
    """The stream's identity: its time of creation; another one means that it was lost and made anew."""


class Bus:
    """One service's connection to a pool."""

    def __init__(self, url: str, pool: Pool, *, name: str) -> None:
        self.link = Link()
        self._pool = pool
        self._connection: NatsConnection | None = None
        address = parse(url)
        self._broker = _Broker(
            address.url,
            inbox_prefix=address.inbox,
            security=NatsSecurity(ssl_context=trust) if (trust := address.trust()) else None,
            name=name,
            decoder=_raw,
            apply_types=False,
            logger=None,
            graceful_timeout=GRACE_S,
            js_options={"timeout": SUBSCRIBE_S},
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type]  # nats-py takes any number
            ping_interval=PING_INTERVAL_S,
            max_outstanding_pings=MAX_PINGS,
            pending_size=PENDING_BYTES,
            error_cb=self.link.failed,
            disconnected_cb=self.link.lost,
            reconnected_cb=self.link.found,
        )

    async def open(self) -> Client:
        """Connect, however long that takes, and return the pool's client on this connection."""
        connection = self._connection = await self._broker.connect()
        hand_over_whatever_comes(connection)
        await self._broker.start()
        await self.link.opened()
        return Client(connection, self.link, self._pool)

    async def close(self) -> None:
        """Hang up, also while the bus is away and FastStream's own way of it fails."""
        with suppress(Error, OSError, TimeoutError):
            await self._broker.stop()
        if self._connection is not None:
            await hang_up(self._connection)

    async def place(self, client: Client, service: Service) -> Place:
        """Return where the service stands in the stream; from its beginning if it never ran. Raises Transient."""
        stream = names.stream_name(self._pool)
        with translated(f"looking for the place of {service}"):
            created = (await client.js.stream_info(stream)).created
            floor = 0
            for _, consumer in await self._consumers(client.js, service):
                info = await client.js.consumer_info(stream, consumer)
                if info.ack_floor is not None:
                    floor = max(floor, info.ack_floor.stream_seq)
        return Place(floor, created.isoformat() if created else "")

    async def waiting(self, client: Client, service: Service, *, fence: int) -> int:
        """Return how many messages wait for the active instance or for its answer. Raises Transient."""
        with translated(f"asking what waits for {service}"):
            info = await client.js.consumer_info(names.stream_name(self._pool), f"{service}-{fence}")
        return (info.num_pending or 0) + (info.num_ack_pending or 0)

    @asynccontextmanager
    async def consuming(
        self,
        client: Client,
        service: Service,
        *,
        fence: int,
        after: int,
        take: Taker,
        pace: Pace,
        kinds: Iterable[str] = (),
    ) -> AsyncIterator[None]:
        """Deliver everything of these types after sequence ``after`` to ``take``, in order; retire older consumers.

        Without types it is all that there is; of deadlines it is the service's own. What the server leaves out costs
        nobody a parse and an acknowledgement.

        Raises Transient if the bus goes away while this is set up; what is lost on the way later, ``Gaps`` notices.
        """
        consumer = f"{service}-{fence}"
        subscriber = self._subscriber(
            consumer, _config(after, names.kind_subjects(self._pool, kinds, hearer=service), pace)
        )

        turns = Turns(GIVE_WAY)

        async def arrived(msg: Msg) -> None:
            await take(Stored.of(msg), msg)
            await turns.done()

        subscriber(arrived)
        subscriber.consume = arrived  # type: ignore[method-assign]  # past contexts and middlewares, of which it has none
        with translated(f"subscribing {consumer}"):
            await subscriber.start()
        try:
            with translated(f"retiring what was before {consumer}"):
                js = client.connection.jetstream(timeout=SUBSCRIBE_S)
                for older, name in await self._consumers(js, service):
                    if older < fence:
                        with suppress(NotFoundError):
                            await js.delete_consumer(names.stream_name(self._pool), name)
            yield
        finally:
            with suppress(Error, OSError, TimeoutError):
                await subscriber.stop()

    def _subscriber(self, consumer: str, config: ConsumerConfig) -> PushStreamSubscriber:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that one consumer serves one instance is the point
            return self._broker.subscriber(
                names.stream_subjects(self._pool),
                stream=JStream(names.stream_name(self._pool), declare=False),
                durable=consumer,
                config=config,
                ack_policy=AckPolicy.MANUAL,
                persistent=False,
                include_in_schema=False,
            )

    async def _consumers(self, js: JetStreamContext, service: Service) -> list[tuple[int, str]]:
        """Return fence and name of the service's consumers, oldest first."""
        found = await js.consumers_info(names.stream_name(self._pool))
        known = [info.name.rpartition("-") for info in found]
        return sorted((int(fence), f"{who}-{fence}") for who, _, fence in known if who == service and fence.isdigit())


def _config(after: int, subjects: list[str], pace: Pace) -> ConsumerConfig:
    return ConsumerConfig(
        filter_subjects=subjects,
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=after + 1,
        ack_policy=StreamAck.EXPLICIT,
        ack_wait=pace.ack_wait_s,
        max_ack_pending=IN_FLIGHT,
    )


async def _raw(message: StreamMessage[Msg]) -> Msg:
    """Hand the message to the handler as it came: a garbled one must reach the dead letters, not FastStream's log."""
    return message.raw_message


class Gaps:
    """Notices deliveries that were lost on the way: the consumer counts each one it sends."""

    def __init__(self) -> None:
        self._next = 1

    def check(self, stored: Stored) -> None:
        """Raise Transient if this delivery is not the next one."""
        if stored.delivery != self._next:
            raise Transient(f"delivery {stored.delivery} came instead of {self._next}: some were lost on the way")
        self._next += 1
