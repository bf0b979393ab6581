"""``/healthz``, ``/readyz`` and ``/metrics`` on a port, in as little as that takes."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Permanent
from keepstep.runtime.metrics import Metrics

READ_S = 5.0
LONGEST_REQUEST = 8192
UNREAD_S = 30
"""For whoever asked to take what he is sent: then the kernel hangs up, since what was sent would be kept for ever."""


class Stand(StrEnum):
    """Where a service stands."""

    STARTING = "starting"
    STANDBY = "standby"
    ACTIVE = "active"


@dataclass
class Health:
    """Where the services of this process stand; ready when each is active or stands by."""

    stands: dict[Service, Stand] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def set(self, service: Service, stand: Stand) -> None:
        """Note where a service stands and wake those who wait."""
        self.stands[service] = stand
        waiting, self.changed = self.changed, asyncio.Event()
        waiting.set()

    @property
    def ready(self) -> bool:
        """Return whether every service of the process is active or stands by."""
        return bool(self.stands) and Stand.STARTING not in self.stands.values()

    @property
    def active(self) -> bool:
        """Return whether every service of the process is the active one."""
        return bool(self.stands) and set(self.stands.values()) == {Stand.ACTIVE}

    async def wait_ready(self) -> None:
        """Return once every service of the process is active or stands by."""
        while not self.ready:
            await self.changed.wait()

    async def wait_active(self) -> None:
        """Return once every service of the process is active."""
        while not self.active:
            await self.changed.wait()


@dataclass(frozen=True)
class Answer:
    """Status line, media type and body."""

    status: str
    media: str
    body: bytes


_NOT_ALLOWED = Answer("405 Method Not Allowed", "text/plain", b"only GET\n")


def answer(path: str, health: Health, metrics: Metrics) -> Answer:
    """Return what a path answers."""
    match path:
        case "/healthz":
            return Answer("200 OK", "text/plain", b"ok\n")
        case "/readyz":
            lines = "".join(f"{service} {stand}\n" for service, stand in sorted(health.stands.items()))
            return Answer("200 OK" if health.ready else "503 Service Unavailable", "text/plain", lines.encode())
        case "/metrics":
            return Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics.text())
        case _:
            return Answer("404 Not Found", "text/plain", b"try /healthz, /readyz or /metrics\n")


@asynccontextmanager
async def serving(host: str, port: int, answers: Callable[[str], Answer]) -> AsyncIterator[int]:
    """Serve GET requests while the block runs; yields the port, the system's choice where 0 was asked for.

    Raises Permanent if the port is not to be had.
    """

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(READ_S):
                request = await reader.readuntil(b"\r\n\r\n")
            method, _, rest = request.decode("latin-1").partition(" ")
            path = rest.partition(" ")[0].partition("?")[0]
            found = answers(path) if method == "GET" else _NOT_ALLOWED
            head = (
                f"HTTP/1.1 {found.status}\r\nContent-Type: {found.media}\r\n"
                f"Content-Length: {len(found.body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + found.body)
            await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(connected, host, port, limit=LONGEST_REQUEST)
    except OSError as error:
        raise Permanent(
            f"port {port} of {host} for /healthz, /readyz and /metrics is not to be had"
            f" ({os.strerror(error.errno or 0)}); choose another with --port or KEEPSTEP_HTTP_PORT, 0 serves none"
        ) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux has it; connections inherit it, and it counts a closed window too
        for listening in server.sockets:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_S * 1000)
    async with server:
        yield server.sockets[0].getsockname()[1]
