"""One connection to the bus that is never given up, and what is known of its ups and downs."""

import asyncio
from datetime import timedelta

import nats
from nats.aio.client import Client as NatsConnection

from keepstep.ports.errors import Transient
from keepstep.runtime.address import parse
from keepstep.runtime.stored_msg import believe_no_stored_status

RECONNECT_WAIT_S = 0.25
"""Between two tries; a server on one machine is back in 20 ms, and four tries a second cost nothing."""
PING_INTERVAL_S = 5
"""A frozen server is noticed after two missed pings; the default of two minutes would be an outage of its own."""
MAX_PINGS = 2
PENDING_BYTES = 16 * 1024 * 1024
"""What is said while cut off waits in memory up to here; whoever says more is told to try again."""


class Link:
    """The ups and downs of a connection, as callbacks to hand to whoever opens it."""

    def __init__(self) -> None:
        self.connected = False
        self.outages = 0
        self.recoveries = 0
        self.last_error = ""
        self._recovered = asyncio.Event()

    async def opened(self) -> None:
        """Note that the first connect went well."""
        self.connected = True

    async def lost(self) -> None:
        """Note that the connection broke."""
        if self.connected:
            self.outages += 1
        self.connected = False

    async def found(self) -> None:
        """Note that the connection is back and wake those who wait for that."""
        self.connected = True
        self.recoveries += 1
        waiting, self._recovered = self._recovered, asyncio.Event()
        waiting.set()

    async def failed(self, error: Exception) -> None:
        """Keep the reason of the latest failed try; the client tries again by itself."""
        self.last_error = str(error) or type(error).__name__

    async def next_recovery(self, seen: int) -> None:
        """Return once there was a recovery after the ``seen`` ones."""
        while self.recoveries == seen:
            await self._recovered.wait()


async def connect(url: str, *, name: str, within: timedelta | None = None) -> tuple[NatsConnection, Link]:
    """Open a connection that reconnects for ever; ``within`` bounds the first connect only.

    Raises Transient if the bus was not reached in time, Permanent for an address that cannot be used.
    """
    link = Link()
    address = parse(url)
    opening = nats.connect(
        address.url,
        inbox_prefix=address.inbox,
        tls=address.trust(),
        name=name,
        allow_reconnect=True,
        max_reconnect_attempts=-1,
        reconnect_time_wait=RECONNECT_WAIT_S,
        ping_interval=PING_INTERVAL_S,
        max_outstanding_pings=MAX_PINGS,
        pending_size=PENDING_BYTES,
        error_cb=link.failed,
        disconnected_cb=link.lost,
        reconnected_cb=link.found,
    )
    try:
        connection = await asyncio.wait_for(opening, None if within is None else within.total_seconds())
    except TimeoutError as error:
        reason = link.last_error or "no answer"
        raise Transient(f"the bus was not reached within {within} ({reason}); check KEEPSTEP_NATS_URL") from error
    believe_no_stored_status(connection)
    await link.opened()
    return connection, link
