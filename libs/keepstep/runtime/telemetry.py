"""Heartbeats over core NATS: not stored, lost when nobody listens, cheap enough for every agent and second."""

from collections.abc import Callable
from typing import Protocol

from keepstep.contracts.telemetry import Heartbeat


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
