"""Real servers for the tests: a NATS server and a Redis server per session.

A server named by KEEPSTEP_TEST_NATS_URL or KEEPSTEP_TEST_REDIS_URL is used as it is; else the native binary is started
on a free port; else, where a container engine answers, a container. And which of the longest tests run today.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import hypothesis
import pytest
import pytest_asyncio
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from testcontainers.core.container import DockerContainer

from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Permanent
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer, dying_with, find_binary
from tests.share import DAYS, PART, share_of

hypothesis.settings.register_profile("patient", deadline=None)  # an example takes 0.3 ms, or 0.8 s while others work
hypothesis.settings.load_profile("patient")


def pytest_configure() -> None:
    """Settle for all workers which part of the long tests this run takes: another one each day."""
    os.environ.setdefault(PART, str(datetime.now(UTC).toordinal()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long tests of other days; KEEPSTEP_TEST_SHARE=1, or naming some, takes every one."""
    share = share_of(DAYS)
    named = bool(config.option.keyword) or any("::" in word for word in config.args)
    long = [item for item in items if item.get_closest_marker("slow") and item.get_closest_marker("system")]
    other = {id(item) for number, item in enumerate(long) if (number + int(os.environ[PART])) % share and not named}
    if other:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in other])
        items[:] = [item for item in items if id(item) not in other]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def nats_url() -> AsyncIterator[str]:
    """URL of a server with JetStream that all tests of the session share; pools keep them apart."""
    if given := os.environ.get("KEEPSTEP_TEST_NATS_URL"):
        yield given
        return
    try:
        find_binary()
    except Permanent:
        with _container("nats:2.11", 4222, "nats", command="-js") as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder))
        yield (await server.start()).get_secret_value()
        await server.stop()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """URL of a Redis server that all tests of the session share; rooms keep them apart."""
    if given := os.environ.get("KEEPSTEP_TEST_REDIS_URL"):
        yield given
        return
    if shutil.which("redis-server") is None:
        with _container("redis:7", 6379, "redis") as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
        process = subprocess.Popen(
            ["redis-server", *options],
            stdout=subprocess.DEVNULL,
            preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 - the session has no threads yet
        )
        url = f"unix://{socket}"
        _wait_for_redis(url)
        yield url
        process.kill()
        process.wait()


@pytest.fixture
def pool() -> Pool:
    """Return a pool that no other test uses."""
    return Pool(f"test-{uuid4().hex[:12]}")


@pytest_asyncio.fixture
async def client(nats_url: str, pool: Pool) -> AsyncIterator[Client]:
    """Yield a participant of a fresh, provisioned pool."""
    opened = await Client.open(nats_url, pool, name="test")
    await opened.provision()
    yield opened
    for stream in await opened.js.streams_info():
        if pool in (stream.config.name or ""):
            await opened.js.delete_stream(stream.config.name or "")
    await opened.close()


@contextmanager
def _container(image: str, port: int, scheme: str, *, command: str = "") -> Iterator[str]:
    try:
        container = DockerContainer(image).with_exposed_ports(port).with_command(command).start()
    except Exception as error:
        pytest.skip(f"no {scheme} server: neither a binary nor a container engine ({error})")
    with container:
        yield f"{scheme}://{container.get_container_host_ip()}:{container.get_exposed_port(port)}"


def _wait_for_redis(url: str) -> None:
    until = time.monotonic() + 10
    with Redis.from_url(url) as redis:
        while True:
            try:
                redis.ping()
            except RedisConnectionError:
                assert time.monotonic() < until, "redis-server did not start within 10 s"
                time.sleep(0.005)
            else:
                return
