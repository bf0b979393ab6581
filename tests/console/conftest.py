"""A console on the session's bus, asked in this process, and one that is served on a port."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx
import pytest
import structlog
from pydantic import SecretStr

from keepstep.adapters.clock import SystemClock
from keepstep.console.api import application
from keepstep.console.app import built
from keepstep.console.context import Console
from keepstep.console.settings import ConsoleSettings
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.runtime import log
from keepstep.runtime.client import Client
from tests.console.waiting import until


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """Log like production does, and only what nobody expects."""
    log.configure(logging.CRITICAL)
    yield
    structlog.reset_defaults()


@pytest.fixture
def settings(nats_url: str, pool: Pool) -> ConsoleSettings:
    """Settings of a console in the test's pool; queries are not counted unless a test is about that."""
    return ConsoleSettings(nats_url=SecretStr(nats_url), pool=pool, console_port=0, console_queries=10_000)


@asynccontextmanager
async def consoled(settings: ConsoleSettings, client: Client) -> AsyncIterator[Console]:
    """A console that follows the pool's stream and has read what is there."""
    console = built(settings, client, SystemClock())
    async with console.live.running():
        await until(lambda: console.live.caught_up)
        yield console


@pytest.fixture
async def console(settings: ConsoleSettings, client: Client) -> AsyncIterator[Console]:
    """A console that follows the pool's stream."""
    async with consoled(settings, client) as found:
        yield found


@asynccontextmanager
async def asking(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client that asks the console in this process, as somebody of this machine does."""
    transport = httpx.ASGITransport(app=application(console), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8700/api/v1") as found:
        yield found


@pytest.fixture
async def web(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the console."""
    async with asking(console) as found:
        yield found


async def tell(client: Client, console: Console, *said: Message) -> None:
    """Put messages into the test's pool, and return once the console has heard the last."""
    for message in said:
        await client.say(message.model_copy(update={"pool": client.pool}))
    end = await client.last_sequence()
    await until(lambda: console.board.model.recent.last >= end)
