"""What the bus of a run under measurement holds: when each event of a restart reached the stream, and warm ranks."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from tests.system.job import JobTest

from keepstep.cli.places import StackAddress
from keepstep.contracts.message import Message
from keepstep.contracts.telemetry import Heartbeat
from keepstep.runtime.client import Client

CONNECT = timedelta(seconds=10)


@dataclass(frozen=True)
class Event:
    """One event and when the stream had it (seconds of the wall clock)."""

    message: Message
    at: float


def read_events(job: JobTest) -> list[Event]:
    """Return all events of the run so far in the stream's order."""
    return asyncio.run(_read(job.address()))


async def _read(address: StackAddress) -> list[Event]:
    client = await Client.open(address.url.get_secret_value(), address.pool, name="benchmark", within=CONNECT)
    try:
        return [Event(said.message, said.time.timestamp()) async for said in client.read() if said.message is not None]
    finally:
        await client.close()


def until_warm(job: JobTest, *, generation: int, limit_s: float) -> None:
    """Wait until every task says that all its spares are ready; raises TimeoutError."""
    asyncio.run(_warm(job.address(), generation, job.nodes, job.nproc, limit_s))


async def _warm(address: StackAddress, generation: int, tasks: int, spares: int, limit_s: float) -> None:
    client = await Client.open(address.url.get_secret_value(), address.pool, name="benchmark", within=CONNECT)
    ready: dict[str, int] = {}
    complete = asyncio.Event()

    def feel(beat: Heartbeat) -> None:
        if beat.generation == generation:
            ready[beat.task.uid] = beat.warm_ready
        if list(ready.values()) == [spares] * tasks:
            complete.set()

    hearing = asyncio.create_task(client.telemetry.hear(feel))
    try:
        async with asyncio.timeout(limit_s):
            await complete.wait()
    finally:
        hearing.cancel()
        await client.close()
