"""One connection to the bus that is never given up, and what is known of its ups and downs."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import nats
from nats.aio.client import Client as NatsConnection
from nats.errors import Error

from keepstep.ports.errors import Transient
from keepstep.runtime.address import Address, parse
from keepstep.runtime.login import Login
from keepstep.runtime.stored_msg import hand_over_whatever_comes
from keepstep.runtime.tasks import within as done_within

T = TypeVar("T")

RECONNECT_WAIT_S = 0.25
"""Between two tries; a server on one machine is back in 20 ms, and four tries a second cost nothing."""
PING_INTERVAL_S = 5
"""A frozen server is noticed after two missed pings; the default of two minutes would be an outage of its own."""
MAX_PINGS = 2
PENDING_BYTES = 16 * 1024 * 1024
"""What is said while cut off waits in memory up to here; whoever says more is told to try again."""
ANSWER_S = 4
"""For the bus to let somebody in whom it has to ask its gate about; it gives up after 8 s itself."""
KNOCK_AGAIN_S = 1.0
"""Between two tries of somebody who may be turned away; ten thousand at once are no storm."""

STRANGER = "stranger"


class Link:
    """The ups and downs of a connection, as callbacks to hand to whoever opens it."""

    def __init__(self) -> None:
        self.connected = False
        self.closed = asyncio.Event()
        """Set once the connection is over for good: by its owner, or since the bus showed him out."""
        self.outages = 0
        self.recoveries = 0
        self.last_error = ""
        self.round_trip: Callable[[], Awaitable[None]] | None = None
        """Asks the bus for a sign of life, where having connected is none."""
        self._recovered = asyncio.Event()
        self._unanswered: set[asyncio.Future[Any]] = set()

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
        if self.round_trip is not None and not await self._proven(self.round_trip):
            return
        self.connected = True
        self.recoveries += 1
        waiting, self._recovered = self._recovered, asyncio.Event()
        waiting.set()
        for answer in self._unanswered:
            if not answer.done():
                answer.set_exception(TimeoutError("the connection was lost meanwhile"))

    async def _proven(self, round_trip: Callable[[], Awaitable[None]]) -> bool:
        """Return whether the bus let us in, once that is known; the client ends the wait when the bus hangs up."""
        while True:
            try:
                await round_trip()
            except TimeoutError:
                continue
            except (Error, OSError):
                return False
            return True

    async def over(self) -> None:
        """Note that the client gave the connection up, as it does for whatever error the server names."""
        self.connected = False
        self.closed.set()

    async def failed(self, error: Exception) -> None:
        """Keep the reason of the latest failed try; the client tries again by itself."""
        self.last_error = str(error) or type(error).__name__

    async def next_recovery(self, seen: int) -> None:
        """Return once there was a recovery after the ``seen`` ones."""
        while self.recoveries == seen:
            await self._recovered.wait()

    async def answered(self, answer: "asyncio.Future[T]", *, within_s: float) -> T:
        """Return the answer; TimeoutError without one in time, or when the connection it would come on is another."""
        self._unanswered.add(answer)
        try:
            async with asyncio.timeout(within_s):
                return await answer
        finally:
            self._unanswered.discard(answer)


async def connect(
    url: str,
    *,
    name: str,
    within: timedelta | None = None,
    login: Login | None = None,
    link: Link | None = None,
) -> tuple[NatsConnection, Link]:
    """Open a connection that reconnects for ever; ``within`` bounds the first connect only.

    ``login`` stands for credentials in the address. Raises Transient if the bus was not reached in time, Permanent for
    an address that cannot be used.
    """
    address, link = parse(url), link or Link()
    opening = _open(address, name, link) if login is None else _knock(address, name, login)
    try:
        return await done_within(opening, None if within is None else within.total_seconds())
    except TimeoutError as error:
        reason = link.last_error or "no answer"
        raise Transient(f"the bus was not reached within {within} ({reason}); check KEEPSTEP_NATS_URL") from error


async def _open(address: Address, name: str, link: Link) -> tuple[NatsConnection, Link]:
    connection = await nats.connect(
        address.url,
        inbox_prefix=address.inbox,
        tls=address.trust(),
        name=name,
        reconnect_time_wait=RECONNECT_WAIT_S,
        **_for_ever(link),
    )
    hand_over_whatever_comes(connection)
    await link.opened()
    return connection, link


async def _knock(address: Address, name: str, login: Login) -> tuple[NatsConnection, Link]:
    """Knock until the bus has answered.

    While the bus waits for its gate it sends the first PING, after 2 s, which the client (nats-py 2.16) takes for
    having been let in. So nobody is in before an answer has come back.
    """
    while True:
        link = Link()
        connection = await nats.connect(
            address.url,
            user=login.user,
            password=login.proof,
            inbox_prefix=login.inbox,
            tls=address.trust(),
            name=name,
            connect_timeout=ANSWER_S,
            reconnect_time_wait=KNOCK_AGAIN_S,
            **_for_ever(link),
        )
        link.round_trip = partial(connection.flush, ANSWER_S)
        try:
            await link.round_trip()
        except (Error, OSError, TimeoutError):
            await connection.close()
            await asyncio.sleep(KNOCK_AGAIN_S)
            continue
        hand_over_whatever_comes(connection)
        await link.opened()
        return connection, link


def _for_ever(link: Link) -> dict[str, Any]:
    return {
        "allow_reconnect": True,
        "max_reconnect_attempts": -1,
        "ping_interval": PING_INTERVAL_S,
        "max_outstanding_pings": MAX_PINGS,
        "pending_size": PENDING_BYTES,
        "error_cb": link.failed,
        "disconnected_cb": link.lost,
        "reconnected_cb": link.found,
        "closed_cb": link.over,
    }


async def answers_strangers(url: str) -> bool:
    """Return whether the bus turns away whom it does not know; one that waits for its gate in vain does not.

    Raises Transient where it lets everybody in or cannot be reached.
    """
    address = parse(url)
    try:
        connection = await nats.connect(
            address.url, user=STRANGER, password=STRANGER, tls=address.trust(), connect_timeout=ANSWER_S,
            allow_reconnect=False, error_cb=Link().failed,
        )  # fmt: skip
        try:
            await connection.flush(ANSWER_S)
        except (OSError, Error):
            return False
        finally:
            await connection.close()
    except TimeoutError:
        return False
    except (OSError, Error) as error:
        if "uthorization" in str(error):  # of the server's "Authorization Violation", nats-py has the text alone
            return True
        raise Transient(f"the bus cannot be asked: {error or type(error).__name__}") from error
    raise Transient("the bus lets everybody in")


async def hang_up(connection: NatsConnection) -> None:
    """End a connection, also one that is broken: what it could not send any more is nobody's loss."""
    if not connection.is_closed:
        with suppress(Error, OSError, TimeoutError):  # the socket's own error where it broke just now
            await connection.close()
