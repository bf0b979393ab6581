"""Every store under one fixture, so that one suite runs on all of them; local nodes that end with their test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from keepstep.adapters.local_task import Commands
from keepstep.adapters.store_memory import MemoryStore
from keepstep.adapters.store_nats import NatsStore
from keepstep.adapters.store_redis import redis_store
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.ports.store import Store
from keepstep.runtime import names
from keepstep.runtime.client import Client
from tests.adapters.cluster_bench import SLEEP, Bench, Mouth, Start


@pytest_asyncio.fixture(params=["memory", "nats", "redis"])
async def store(request: pytest.FixtureRequest, pool: Pool, client: Client, redis_url: str) -> AsyncIterator[Store]:
    """Yield an empty store of each kind, on a real server where there is one."""
    if request.param == "memory":
        yield MemoryStore()
    elif request.param == "nats":
        yield NatsStore(client.js, names.folds_room(pool, Service.DETECTOR))
    else:
        kept = redis_store(redis_url, names.folds_room(pool, Service.DETECTOR))
        yield kept
        await kept.close()


@pytest.fixture
def mouth(tmp_path: Path) -> Iterator[Mouth]:
    mouth = Mouth(tmp_path / "mouth")
    yield mouth
    mouth.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    benches: list[Bench] = []

    def start(launcher: tuple[str, ...] = SLEEP, agent: tuple[str, ...] = SLEEP) -> Bench:
        commands = Commands(launcher=launcher, agent=agent, agent_grace_s=0.02)
        benches.append(Bench(tmp_path / "cluster", commands))
        return benches[-1]

    yield start
    for bench in benches:
        bench.nodes.lose("n1")
