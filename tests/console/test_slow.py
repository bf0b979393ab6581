"""Whoever sends a request byte by byte, or never ends it, holds no connection for good."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from keepstep.console.serve import served
from keepstep.runtime.hasty import Hasty

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
TAKEN = b"taken 4"


async def _taken(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"taken {len(await request.body())}")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in production, in a fraction of its seconds."""
    monkeypatch.setattr(Hasty, "head_s", 0.5)
    monkeypatch.setattr(Hasty, "body_s", 0.5)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with served(Starlette(routes=[Route("/", _taken, methods=["GET", "POST"])]), "127.0.0.1", 0) as address:
        yield int(address.rpartition(":")[2])


def dripped(data: bytes) -> Iterator[bytes]:
    """The bytes one by one, and the last again and again: it never ends."""
    yield from (data[at : at + 1] for at in range(len(data)))
    while True:
        yield data[-1:]


async def told_while_dripping(port: int, first: bytes, slow: bytes) -> bytes:
    """Send ``first`` at once and ``slow`` byte by byte; returns all that came back until the server hung up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)

    async def drip() -> None:
        with suppress(OSError):
            for byte in dripped(slow):
                writer.write(byte)
                await writer.drain()
                await asyncio.sleep(0.02)  # as slow peers do; each byte ended uvicorn's own time of keep-alive

    dripping = asyncio.ensure_future(drip())
    try:
        async with asyncio.timeout(20):
            try:
                return await reader.read()
            except ConnectionError:
                return b""
    finally:
        dripping.cancel()
        writer.close()


@pytest.mark.parametrize(
    ("first", "slow"),
    [
        (b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: aaaaaaaaaaaaaaaa"),
        (b"GET / HTTP/1.1\r\n", b"X-Slow: aaaaaaaaaaaaaaaa"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", b"aaaa"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n", b"aaaa"),
    ],
    ids=["a head from its first byte on", "the rest of a head", "a body", "a body in chunks"],
)
async def test_a_request_that_comes_byte_by_byte_is_ended(port: int, first: bytes, slow: bytes) -> None:
    told = await told_while_dripping(port, first, slow)
    assert told.startswith(b"HTTP/1.1 408 "), told
    assert b"send it in one go" in told


async def test_a_connection_on_which_nothing_comes_is_ended(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(20):
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
    writer.close()


async def test_the_second_request_of_a_connection_may_dawdle_no_more_than_the_first(port: int) -> None:
    told = await told_while_dripping(port, HEAD + b"abcd", b"GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaa")
    assert told.startswith(b"HTTP/1.1 200 ")
    assert TAKEN in told
    assert b"HTTP/1.1 408 " in told


async def test_who_sends_in_time_is_served_again_and_again(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(20):
        for _ in range(5):
            writer.write(HEAD[:20])
            await asyncio.sleep(0.2)  # of the half second that a head has; five of them are longer than that
            writer.write(HEAD[20:] + b"ab")
            await asyncio.sleep(0.05)
            writer.write(b"cd")
            answer = await reader.readuntil(TAKEN)
            assert answer.startswith(b"HTTP/1.1 200 ")
        writer.write((HEAD + b"abcd") * 3)
        for _ in range(3):
            assert b"408" not in await reader.readuntil(TAKEN)
    writer.close()


async def test_a_full_house_lets_nobody_else_in_and_serves_again_when_the_slow_are_gone(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hasty, "most", 3)
    slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        for told, _ in slow:
            assert b"408" in await told.read()
        assert await served_again(port)
    for _, each in slow:
        each.close()
    writer.close()


async def served_again(port: int) -> bool:
    """Ask until there is room: who was told that he is late has a second to read it."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            writer.write(HEAD + b"abcd")
            return (await reader.readuntil(TAKEN)).startswith(b"HTTP/1.1 200 ")
        writer.close()
        await asyncio.sleep(0.1)  # the caller bounds it
