"""A reader at its own pace: all messages in order, and never many more on their way than it takes in."""

import asyncio

import pytest

from keepstep.contracts.ids import Pool
from keepstep.runtime.client import Client
from tests.runtime.stages import report


async def fill(client: Client, pool: Pool, count: int) -> list[str]:
    said = [report(pool, str(number)) for number in range(count)]
    for start in range(0, count, 50):
        await asyncio.gather(*(client.say(message) for message in said[start : start + 50]))
    return [one.message.id async for one in client.read() if one.message]


async def test_a_reader_is_told_what_is_there_and_then_what_is_new(client: Client, pool: Pool) -> None:
    known = await fill(client, pool, 600)
    heard: list[str] = []
    new = report(pool, "new")
    async with asyncio.timeout(20):
        async for one in client.paced():
            assert one.message is not None
            heard.append(one.message.id)
            if len(heard) == 600:
                await client.say(new)
            if len(heard) == 601:
                break
    assert heard == [*known, new.id]


async def test_a_slow_reader_is_not_sent_the_whole_stream(client: Client, pool: Pool) -> None:
    """The window grows from 2 MiB to 32; without flow control all 12 MB would be in this process at once."""
    long = "x" * 100_000
    for number in range(120):
        await client.say(report(pool, str(number)).model_copy(update={"text": long}))
    before, taken, most = client.connection.stats["in_bytes"], 0, 0
    async for one in client.paced():
        taken += len(one.body)
        await asyncio.sleep(0.002)  # slower than the server
        most = max(most, client.connection.stats["in_bytes"] - before - taken)
        if one.sequence == 120:
            break
    assert taken > 12_000_000
    assert most < 9_000_000


@pytest.mark.parametrize(("first", "last", "expected"), [(3, 5, 3), (1, 1000, 20), (21, 30, 0), (15, 20, 6)])
async def test_a_window_holds_what_lies_between_two_sequences(
    client: Client, pool: Pool, first: int, last: int, expected: int
) -> None:
    await fill(client, pool, 20)
    found = [one.sequence async for one in client.window(first=first, last=last)]
    assert found == list(range(first, first + expected))


async def test_a_window_of_an_empty_stream_is_empty(client: Client) -> None:
    assert [one async for one in client.window(first=1, last=100)] == []
