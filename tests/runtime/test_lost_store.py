"""Losing the store loses nothing: folds come back from memory while active, from the stream otherwise."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer
from tests.runtime.conftest import Running, running, until_said
from tests.runtime.stages import Count, Probe, report, until


@pytest_asyncio.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    """Yield a connection to the session's Redis, to do it harm."""
    opened = Redis.from_url(redis_url)
    yield opened
    await opened.aclose()


async def test_a_flushed_store_is_written_again_while_active(
    client: Client, pool: Pool, start: Running, redis: Redis, redis_url: str
) -> None:
    probe = Probe()
    async with start(probe.app(), store=redis_url):
        for job in ("job-1", "job-2"):
            await client.say(report(pool, f"a-{job}", job=job))
        await until(lambda: len(probe.states) == 2)
        await redis.flushall()
        await client.say(report(pool, "b", job="job-1"))
        await until(lambda: probe.states["job-1"].seen == ("a-job-1", "b"))

        async def both_there() -> bool:
            return len(await redis.keys("*fold:fold/*")) == 2

        await until(both_there)
    again = Probe()
    async with start(again.app(), store=redis_url):
        assert again.states["job-1"].seen == ("a-job-1", "b")
        assert again.states["job-2"].seen == ("a-job-2",)
    assert again.decided == []


@pytest.mark.parametrize("kind", ["redis", "nats", "memory"])
async def test_a_store_lost_while_down_is_replayed_from_the_stream(
    client: Client, start: Running, redis: Redis, redis_url: str, kind: str
) -> None:
    pool = client.pool
    store = redis_url if kind == "redis" else kind
    first = Probe()
    async with start(first.app(), store=store):
        for name in ("a", "b"):
            await client.say(report(pool, name))
        await until_said(client, "a", "b")
    if kind == "redis":
        await redis.flushall()
    await client.js.purge_stream(f"KV_{names.folds_room(pool, Service.DIAGNOSER)}")
    again = Probe()
    async with start(again.app(), store=store):
        await until(lambda: again.states.get("job-1", Count()).seen == ("a", "b"))
        await client.say(report(pool, "c"))
        await until_said(client, "a", "b", "c")
        assert again.states["job-1"].seen == ("a", "b", "c")


async def test_a_store_of_another_stream_is_not_believed(
    client: Client, pool: Pool, start: Running, redis_url: str
) -> None:
    probe = Probe()
    async with start(probe.app(), store=redis_url):
        await client.say(report(pool, "old"))
        await until_said(client, "old")
    await client.js.delete_stream(names.stream_name(pool))
    await client.provision()
    again = Probe()
    async with start(again.app(), store=redis_url):
        assert again.states == {}
        await client.say(report(pool, "new"))
        await until_said(client, "new")


async def test_a_bus_that_is_back_with_older_data_is_heard_again(tmp_path: Path, redis_url: str) -> None:
    """The folds had applied higher sequences than the stream now gave out: everything new was taken for old."""
    pool, data, kept = Pool(f"older-{tmp_path.name}"), tmp_path / "nats", tmp_path / "kept"
    server = NatsServer(data)
    url = await server.start()
    client = await Client.open(url.get_secret_value(), pool, name="test")
    probe = Probe()
    try:
        async with running(probe.app(), url.get_secret_value(), pool, store=redis_url):
            await client.say(report(pool, "a"))
            await until_said(client, "a")
            await server.stop()
            shutil.copytree(data, kept)
            await server.start()
            for name in ("b", "c"):
                await client.say(report(pool, name))
            await until_said(client, "a", "b", "c")
            await until(lambda: probe.states.get("job-1", Count()).seen == ("a", "b", "c"))
            await server.stop()
            shutil.rmtree(data)
            shutil.copytree(kept, data)
            await server.start()
            await client.say(report(pool, "d"))
            await until_said(client, "a", "d")
            assert probe.states["job-1"].seen == ("a", "d")
    finally:
        await client.close()
        await server.stop()


async def test_a_store_that_cannot_be_reached_holds_messages_and_loses_none(
    client: Client, pool: Pool, start: Running, redis: Redis, redis_url: str
) -> None:
    probe = Probe()
    async with start(probe.app(), store=redis_url):
        await client.say(report(pool, "a"))
        await until_said(client, "a")
        await redis.config_set("maxclients", "1")
        await redis.client_kill_filter(_type="normal", skipme=True)
        await client.say(report(pool, "b"))
        await until(lambda: probe.decided.count("b") > 1)
        await redis.config_set("maxclients", "10000")
        await until_said(client, "a", "b")
