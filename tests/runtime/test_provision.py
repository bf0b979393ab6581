"""Streams and buckets come to be, although the server is still clearing others away."""

import pytest
from nats.js.api import DiscardPolicy, StreamConfig, StreamInfo
from nats.js.errors import ServerError

from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Transient
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.provision import DEAD_LETTER_BYTES, PER_SUBJECT, provision


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


async def letters_of_an_older_version(
    client: Client, pool: Pool, *, max_bytes: int | None = None, max_age: float | None = None
) -> str:
    """Make a pool's dead letters as older versions did, and return the stream's name."""
    name = names.deadletter_stream(pool)
    subjects = [names.deadletter_subject(pool, "*")]
    await client.js.add_stream(StreamConfig(name=name, subjects=subjects, max_bytes=max_bytes, max_age=max_age))
    await client.js.publish(names.deadletter_subject(pool, "detector"), b"kept")
    return name


async def test_dead_letters_of_an_older_version_are_bounded_and_none_is_lost(client: Client) -> None:
    pool = Pool(f"{client.pool}-older")
    name = await letters_of_an_older_version(client, pool)
    await provision(client.js, pool)
    now = await client.js.stream_info(name)
    assert (now.config.max_bytes, now.config.max_msgs_per_subject) == (DEAD_LETTER_BYTES, PER_SUBJECT)
    assert now.config.discard == DiscardPolicy.OLD.value
    assert now.state.messages == 1


async def test_a_bound_that_a_person_set_stays(client: Client) -> None:
    pool = Pool(f"{client.pool}-edited")
    name = await letters_of_an_older_version(client, pool, max_bytes=4 * DEAD_LETTER_BYTES, max_age=60)
    await provision(client.js, pool)
    now = (await client.js.stream_info(name)).config
    assert (now.max_bytes, now.max_age, now.max_msgs_per_subject) == (4 * DEAD_LETTER_BYTES, 60, PER_SUBJECT)


async def test_a_bus_that_lets_nobody_change_a_stream_is_provisioned_and_told_of(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pool = Pool(f"{client.pool}-guarded")
    await letters_of_an_older_version(client, pool)

    async def silence(_config: StreamConfig) -> StreamInfo:
        raise TimeoutError

    monkeypatch.setattr(client.js, "update_stream", silence)
    await provision(client.js, pool)
    assert "nats stream edit" in caplog.text
