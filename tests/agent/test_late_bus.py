"""A connection that is made anew for ever, and how often."""

import asyncio
from dataclasses import dataclass, field

from keepstep.agent.late_bus import LateBus
from keepstep.runtime.client import Client
from keepstep.runtime.connection import Link
from keepstep.runtime.tasks import end


@dataclass
class PutOut:
    """A connection that is over as soon as it is there."""

    pool: str = "default"
    link: Link = field(default_factory=Link)

    async def close(self) -> None:
        """Close nothing."""


async def test_whoever_is_let_in_and_put_out_at_once_does_not_knock_without_end() -> None:
    """Each knock is two questions to the API server, and there are as many agents as pods."""
    knocks = 0

    async def knock() -> Client:
        nonlocal knocks
        knocks += 1
        client = PutOut()
        client.link.closed.set()
        return client  # type: ignore[return-value]  # the little of a client that is asked for here

    connecting = asyncio.create_task(LateBus(knock).connect())
    for _ in range(200):
        await asyncio.sleep(0)  # a turn, in which a knock would come
    await end([connecting])
    assert knocks == 1
