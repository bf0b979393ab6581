"""Heartbeats over core NATS: not stored, lost when nobody listens, cheap enough for every agent and second."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from nats.aio.client import Client as NatsConnection
from nats.aio.msg import Msg
from nats.errors import Error

from keepstep.adapters.nats_errors import translated
from keepstep.contracts.ids import Pool
from keepstep.contracts.telemetry import Heartbeat
from keepstep.runtime import names
from keepstep.runtime.connection import Link


class Telemetry(Protocol):
    """One pool's heartbeats."""

    @property
    def outages(self) -> int:
        """How often the connection was lost so far; when it grows, loss windows start anew."""

    @property
    def connected(self) -> bool:
        """Whether the bus can be reached now."""

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Send one heartbeat; while cut off it is dropped, a newer one will follow."""

    async def hear(self, handler: Callable[[Heartbeat], None]) -> None:
        """Call ``handler`` with every heartbeat of the pool until cancelled; garbled ones are dropped and counted."""


class NatsTelemetry:
    """Heartbeats of one pool over one connection; nats-py subscribes again by itself after an outage."""

    def __init__(self, connection: NatsConnection, link: Link, pool: Pool) -> None:
        self._connection = connection
        self._link = link
        self._pool = pool
        self.garbled = 0

    @property
    def outages(self) -> int:
        """How often the connection was lost so far; when it grows, loss windows start anew."""
        return self._link.outages

    @property
    def connected(self) -> bool:
        """Whether the bus can be reached now."""
        return self._link.connected

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Send one heartbeat; while cut off it is dropped, a newer one will follow."""
        if not self._link.connected:
            return
        subject = names.telemetry_subject(self._pool, heartbeat.task.uid)
        try:
            await self._connection.publish(subject, heartbeat.model_dump_json().encode())
        except Error:
            return

    async def hear(self, handler: Callable[[Heartbeat], None]) -> None:
        """Call ``handler`` with every heartbeat of the pool until cancelled; garbled ones are dropped and counted.

        One of another pool or task than its subject's is garbled too: the bus holds everybody to subjects of his own.
        """

        async def arrived(message: Msg) -> None:
            heartbeat = self._read(message)
            if heartbeat is None:
                self.garbled += 1
            else:
                handler(heartbeat)

        with translated("listening to heartbeats"):
            subscription = await self._connection.subscribe(names.telemetry_subject(self._pool, "*"), cb=arrived)
        try:
            await asyncio.Event().wait()
        finally:
            if not self._connection.is_closed:
                await subscription.unsubscribe()

    def _read(self, message: Msg) -> Heartbeat | None:
        try:
            heartbeat = Heartbeat.model_validate_json(message.data)
            subject = names.telemetry_subject(heartbeat.pool, heartbeat.task.uid)
        except ValueError:  # no heartbeat, or of a pool or task without a name
            return None
        return heartbeat if subject == message.subject and heartbeat.pool == self._pool else None
