"""Every store under one fixture, so that one suite runs on all of them."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from keepstep.adapters.store_memory import MemoryStore
from keepstep.adapters.store_nats import NatsStore
from keepstep.adapters.store_redis import RedisStore
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.ports.store import Store
from keepstep.runtime import names
from keepstep.runtime.client import Client


@pytest_asyncio.fixture(params=["memory", "nats", "redis"])
async def store(request: pytest.FixtureRequest, pool: Pool, client: Client, redis_url: str) -> AsyncIterator[Store]:
    """Yield an empty store of each kind, on a real server where there is one."""
    if request.param == "memory":
        yield MemoryStore()
    elif request.param == "nats":
        yield NatsStore(client.js, names.folds_room(pool, Service.DETECTOR))
    else:
        redis = Redis.from_url(redis_url)
        yield RedisStore(redis, names.folds_room(pool, Service.DETECTOR))
        await redis.aclose()
