"""The bus goes away under the console: it shows what it knows, says so, and misses nothing."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from pydantic import SecretStr

from keepstep.console.settings import ConsoleSettings
from keepstep.contracts import events as e
from keepstep.contracts.ids import Pool
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer
from tests.console.conftest import asking, consoled, tell
from tests.console.said import began, say, struck
from tests.console.waiting import until

POOL = Pool("outage")


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """Yield a server of the test's own, to be killed; it is started again by whoever keeps it."""
    started = NatsServer(tmp_path)
    await started.start()
    yield started
    await started.stop()


def settings(server: NatsServer) -> ConsoleSettings:
    return ConsoleSettings(nats_url=SecretStr(server.url.get_secret_value()), pool=POOL, console_queries=10_000)


async def test_a_console_misses_nothing_of_a_bus_that_was_killed(server: NatsServer) -> None:
    url = server.url.get_secret_value()
    mine, its = [await Client.open(url, POOL, name=name) for name in ("test", "console")]
    await mine.provision()
    async with consoled(settings(server), its) as console, asking(console) as web:
        await tell(mine, console, *began(), *struck("i1", 10))
        before = (await web.get("/statistics")).json()
        for number in range(3):
            killed = server.pid
            os.kill(killed, signal.SIGKILL)
            assert (await web.get("/statistics")).status_code == 200
            await tell(mine, console, *struck(f"again{number}", 30 + 5 * number))
        found = (await web.get("/statistics")).json()
        assert (before["faults"], found["faults"]) == (1, 4)
        assert (await web.get("/overview")).json()["connected"] is True
        everything = [one.message async for one in mine.read()]
        assert len(console.board.events(limit=500).items) == len(everything)
    for client in (mine, its):
        await client.close()


async def test_an_order_that_the_bus_does_not_take_is_answered_so_and_may_be_given_again(
    server: NatsServer, tmp_path: Path
) -> None:
    url = server.url.get_secret_value()
    mine, its = [await Client.open(url, POOL, name=name) for name in ("test", "console")]
    await mine.provision()
    async with consoled(settings(server), its) as console, asking(console) as web:
        await tell(mine, console, *began(), say(e.NodeIsolated, 5, job=None, node="n1", reason="r", because="b"))
        os.kill(server.pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(20):
                refused = await web.post("/nodes/n1/release", json={"reason": "done"})
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        await until(lambda: console.live.connected)
        again = await web.post("/nodes/n1/release", json={"reason": "done"})
        assert again.status_code == 202
    for client in (mine, its):
        await client.close()
