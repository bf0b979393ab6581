"""Streams and buckets come to be, although the server is still clearing others away."""

import pytest
from nats.js.api import StreamConfig, StreamInfo
from nats.js.errors import ServerError

from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Transient
from keepstep.runtime.client import Client
from keepstep.runtime.provision import provision


def no_store() -> ServerError:
    return ServerError(code=500, err_code=10049, description="error creating store for stream")


async def test_a_store_that_is_refused_for_a_moment_is_made_after_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, refused, add = Pool(f"{client.pool}-again"), [no_store(), no_store()], client.js.add_stream

    async def add_stream(config: StreamConfig) -> StreamInfo:
        if refused:
            raise refused.pop()
        return await add(config)

    monkeypatch.setattr(client.js, "add_stream", add_stream)
    await provision(client.js, pool)
    made = [info.config.name for info in await client.js.streams_info() if str(pool) in (info.config.name or "")]
    assert (refused, len(made)) == ([], 11)


async def test_a_disk_that_takes_no_store_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str | None] = []

    async def add_stream(config: StreamConfig) -> StreamInfo:
        tries.append(config.name)
        raise no_store()

    monkeypatch.setattr(client.js, "add_stream", add_stream)
    monkeypatch.setattr("keepstep.runtime.provision._PAUSES_S", (0.0, 0.0))
    with pytest.raises(Transient, match="error creating store"):
        await provision(client.js, Pool(f"{client.pool}-full"))
    assert max(tries.count(name) for name in tries) == 3
