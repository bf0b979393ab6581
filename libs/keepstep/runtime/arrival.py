"""A message that was delivered, and how to answer the bus about it."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from keepstep.runtime.intake import Reading
from keepstep.runtime.tail import Stored


class Receipt(Protocol):
    """How to answer the bus about one delivery."""

    async def ack(self) -> None:
        """It is taken for good."""

    async def nak(self, delay: float | None = None) -> None:
        """Deliver it again after so many seconds."""

    async def term(self) -> None:
        """Never deliver it again."""


@dataclass(eq=False)
class Arrival:
    """A message that was delivered and is not answered yet; redelivery renews the receipt and calls the next try."""

    stored: Stored
    receipt: Receipt
    reading: Reading
    at: float = 0.0
    """When it came, in seconds of the monotonic clock."""
    tries: int = 0
    again: asyncio.Event = field(default_factory=asyncio.Event)
