"""The bus as services use it: one connection, and what is delivered on it.

Each activation of a service makes a durable consumer of its own, ``<service>-<fence>``, that starts after the last
message its predecessor had acknowledged without a gap: what was in flight comes again in the stream's order, which
redelivery by the old consumer would not give. The subscription is a push one: its messages arrive one by one in order,
it resumes first after an outage, and that it cannot be shared is what is wanted here. Each delivery goes straight to
its taker: what a framework does around a handler took a quarter of the CPU of a burst.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from nats.aio.client import Client as NatsConnection
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from keepstep.adapters.nats_errors import translated
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Transient
from keepstep.runtime import names
from keepstep.runtime.arrival import Receipt
from keepstep.runtime.client import Client
from keepstep.runtime.connection import Link, connect
from keepstep.runtime.pace import Pace
from keepstep.runtime.tail import Stored

IN_FLIGHT = 20_000
"""Unanswered messages per service: so many may wait behind a held key before other keys are held up too."""
SUBSCRIBE_S = 10.0
"""For the server to make a consumer and to take older ones away; where all start on two cores, that takes seconds."""

Taker = Callable[[Stored, Receipt], Awaitable[None]]


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
        self._url, self._pool, self._name = url, pool, name
        self._connection: NatsConnection | None = None

    async def open(self) -> Client:
        """Connect, however long that takes, and return the pool's client on this connection."""
        self._connection, _ = await connect(self._url, name=self._name, link=self.link)
        return Client(self._connection, self.link, self._pool)

    async def close(self) -> None:
        """Hang up, also while the bus is away."""
        if self._connection is not None and not self._connection.is_closed:
            with suppress(Error, TimeoutError):
                await self._connection.close()

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
        consumer, stream = f"{service}-{fence}", names.stream_name(self._pool)
        js = client.connection.jetstream(timeout=SUBSCRIBE_S)

        async def arrived(message: Msg) -> None:
            await take(Stored.of(message), message)

        with translated(f"subscribing {consumer}"):
            subscription = await js.subscribe(
                names.stream_subjects(self._pool),
                stream=stream,
                durable=consumer,
                cb=arrived,
                config=_config(after, names.kind_subjects(self._pool, kinds, hearer=service), pace),
                manual_ack=True,
            )
        try:
            with translated(f"retiring what was before {consumer}"):
                for older, name in await self._consumers(js, service):
                    if older < fence:
                        with suppress(NotFoundError):
                            await js.delete_consumer(stream, name)
            yield
        finally:
            with suppress(Error, TimeoutError):
                await subscription.unsubscribe()

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
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=pace.ack_wait_s,
        max_ack_pending=IN_FLIGHT,
    )


class Gaps:
    """Notices deliveries that were lost on the way: the consumer counts each one it sends."""

    def __init__(self) -> None:
        self._next = 1

    def check(self, stored: Stored) -> None:
        """Raise Transient if this delivery is not the next one."""
        if stored.delivery != self._next:
            raise Transient(f"delivery {stored.delivery} came instead of {self._next}: some were lost on the way")
        self._next += 1
