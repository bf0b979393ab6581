"""A running service on the real bus, at a pace that tests can wait for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest
import structlog
from pydantic import SecretStr

from keepstep.contracts.events import FaultCleared
from keepstep.contracts.ids import Pool
from keepstep.runtime import log
from keepstep.runtime.app import App
from keepstep.runtime.client import Client
from keepstep.runtime.http import Health
from keepstep.runtime.settings import Settings
from tests.active import BRISK as QUICK
from tests.active import active
from tests.runtime.stages import Count

BRISK = replace(QUICK, ack_wait_s=2)

Running = Callable[..., AbstractAsyncContextManager[Health]]


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """Log like production does, and only what nobody expects; other rooms' tests look at what they log."""
    log.configure(logging.CRITICAL)
    yield
    structlog.reset_defaults()


@asynccontextmanager
async def running(
    app: App[Count], url: str, pool: Pool, *, store: str = "nats", wait: bool = True, instance: str = "one"
) -> AsyncIterator[Health]:
    """Run the app until the block ends; with ``wait``, the block starts when it is active."""
    settings = Settings(nats_url=SecretStr(url), pool=pool, store=SecretStr(store), instance=instance)
    async with active([app], settings, pace=BRISK, wait=wait) as health:
        yield health


@pytest.fixture
def start(nats_url: str, pool: Pool, client: Client) -> Running:
    """Return a way to run an app on the session's server in the test's pool."""

    def started(app: App[Count], **options: object) -> AbstractAsyncContextManager[Health]:
        return running(app, nats_url, pool, **options)  # type: ignore[arg-type]  # what a test sets is any of the keywords

    return started


async def said(client: Client) -> list[str]:
    """Return the causes of every FaultCleared in the stream, in order."""
    found = [entry.message async for entry in client.read(kind=FaultCleared.__name__)]
    return [str(message.cause) for message in found if message is not None]


async def until_said(client: Client, *names: str, within: float = 30.0) -> None:
    """Return once the stage has said its word on exactly these messages, in this order."""
    async with asyncio.timeout(within):
        while (found := await said(client)) != list(names):
            assert len(found) <= len(names), found
            await asyncio.sleep(0.02)
