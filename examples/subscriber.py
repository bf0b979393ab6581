"""Follows the stream of a pool: every incident that ended, as a model of the contracts. The base install is enough."""

import asyncio
import os

from keepstep.contracts.events import IncidentClosed
from keepstep.contracts.ids import Pool
from keepstep.runtime.client import Client


async def main() -> None:
    """Print what there is and what comes; ``first=sequence + 1`` goes on where an earlier run ended."""
    bus = await Client.open(os.environ["KEEPSTEP_NATS_URL"], Pool("default"), name="my-subscriber")
    async for said in bus.follow(first=1, kind="IncidentClosed"):
        if isinstance(said.message, IncidentClosed):
            print(said.sequence, said.message.job, said.message.outcome, said.message.because, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
