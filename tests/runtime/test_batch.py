"""Many messages are said in one write of the stream, by any bus, and however often: each is there once."""

import pytest
from nats.js.api import StreamConfig

from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Permanent
from keepstep.runtime import batch, names
from keepstep.runtime.client import Client
from tests.runtime.stages import report


async def stored(client: Client) -> list[str]:
    return [said.message.id async for said in client.read() if said.message]


async def test_a_batch_is_taken_by_one_write_in_its_order(client: Client, pool: Pool) -> None:
    messages = [report(pool, f"n{number}") for number in range(batch.MOST)]
    asked = 0
    publish = client.js.publish_async

    async def counted(*args: object, **kwargs: object) -> object:
        nonlocal asked
        asked += 1
        return await publish(*args, **kwargs)  # type: ignore[arg-type]  # passes on what it was given

    client.js.publish_async = counted  # type: ignore[assignment,method-assign]  # counts messages said one by one
    await client.say_together(messages)
    assert asked == 0
    assert await stored(client) == [one.id for one in messages]


@pytest.mark.parametrize("before", [0, 1, 3])
async def test_what_the_stream_has_already_is_not_said_twice(client: Client, pool: Pool, before: int) -> None:
    messages = [report(pool, name) for name in "abc"]
    for message in messages[:before]:
        await client.say(message)
    for _ in range(2):
        await client.say_together(messages)
    assert sorted(await stored(client)) == sorted(one.id for one in messages)


async def test_a_bus_that_knows_no_batches_takes_each_message_once(
    client: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 2.12 these headers mean nothing: a message is stored as it comes."""
    for name in ("ID", "PLACE", "LAST"):
        monkeypatch.setattr(batch, name, f"X-{name}")
    messages = [report(pool, name) for name in "abcd"]
    await client.say_together(messages)
    assert await stored(client) == [one.id for one in messages]


async def test_a_stream_of_an_older_version_takes_each_message_once(client: Client) -> None:
    older = Pool(f"{client.pool}-older")
    await client.js.add_stream(StreamConfig(name=names.stream_name(older), subjects=[names.stream_subjects(older)]))
    its = Client(client.connection, client.link, older)
    messages = [report(older, name) for name in "abcd"]
    await its.say_together(messages)
    assert sorted(await stored(its)) == sorted(one.id for one in messages)


async def test_nothing_and_one_are_said_as_well(client: Client, pool: Pool) -> None:
    await client.say_together([])
    await client.say_together([report(pool, "a")])
    assert await stored(client) == [report(pool, "a").id]


async def test_a_message_without_a_subject_is_told_before_anything_is_said(client: Client, pool: Pool) -> None:
    with pytest.raises(Permanent, match="no subject"):
        await client.say_together([report(pool, "a"), report(Pool(""), "b")])
    assert await stored(client) == []
