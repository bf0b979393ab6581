"""Services that run in the test's own loop on the session's server, and what they said there."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from keepstep.contracts.message import Message
from keepstep.runtime.app import App
from keepstep.runtime.client import Client
from keepstep.runtime.http import Health
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.pace import Pace
from keepstep.runtime.service import run
from keepstep.runtime.settings import Settings

BRISK = Pace(first_retry_s=0.02, longest_retry_s=0.2, lease_ttl_s=1, renew_s=0.2, standby_look_s=0.05, mark_s=0.1)
LIMIT_S = 10
"""For services to become active, and to say what is waited for."""
M = TypeVar("M", bound=Message)


@asynccontextmanager
async def active(
    apps: Sequence[App[Any]],
    settings: Settings,
    *,
    pace: Pace = BRISK,
    wait: bool = True,
    within: float = LIMIT_S,
    metrics: Metrics | None = None,
) -> AsyncIterator[Health]:
    """Run the services until the block ends; with ``wait`` it begins when all are active."""
    stop, health = asyncio.Event(), Health()
    task = asyncio.create_task(run(apps, settings, stop=stop, health=health, metrics=metrics, pace=pace))
    try:
        if wait:
            async with asyncio.timeout(within):
                await health.wait_active()
        yield health
    finally:
        stop.set()
        await task


async def said(client: Client, kind: type[M], count: int = 1) -> list[M]:
    """Return all messages of a kind once there are ``count``."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            found = [one.message async for one in client.read(kind=kind.__name__)]
            if len(found) >= count:
                return [message for message in found if isinstance(message, kind)]
            await asyncio.sleep(0.02)
