"""Whoever sends more than is taken reads why, with the clients that people use; and nobody is heard out for ever."""

import asyncio
import subprocess
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import requests
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from keepstep.console import serve
from keepstep.console.bounds import MOST_OF_REPORT, Bounded
from keepstep.console.serve import served
from keepstep.console.unread import ReadAway

LONG = b" " * (17 * 1024 * 1024)
WHY = "a request here has at most 16384 KiB"
MIB = 1024 * 1024


async def _taken(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"taken {len(await request.body())}")


@pytest.fixture
async def address() -> AsyncIterator[str]:
    app = Starlette(routes=[Route("/", _taken, methods=["GET", "POST"])])
    app.add_middleware(Bounded, reports="/")
    async with served(app, "127.0.0.1", 0) as address:
        yield f"{address}/"


def pieces() -> Iterator[bytes]:
    yield from (LONG[at : at + MIB] for at in range(0, len(LONG), MIB))


def by_urllib(address: str, body: bytes | Iterator[bytes]) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data=body), timeout=30) as answer:  # noqa: S310 - a server of this test
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def by_requests(address: str, body: bytes | Iterator[bytes]) -> tuple[int, str]:
    answer = requests.post(address, data=body, timeout=30, headers={"Connection": "close"})
    return answer.status_code, answer.text


@pytest.mark.parametrize("client", [by_urllib, by_requests])
@pytest.mark.parametrize("told_before", [True, False], ids=["announced", "in pieces"])
async def test_who_sends_too_much_reads_why(address: str, client: type, told_before: bool) -> None:
    """17 MiB were answered by a connection reset: closed with bytes unread, the kernel took the 413 back."""
    code, text = await asyncio.to_thread(client, address, LONG if told_before else pieces())
    assert (code, WHY in text) == (413, True)


@pytest.mark.parametrize(
    "header", ["Expect:", "Connection: close", "Expect: 100-continue", "Transfer-Encoding: chunked"]
)
async def test_curl_shows_it_too(address: str, header: str, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(LONG)
    asked = ["curl", "-sS", "--max-time", "30", "-w", " %{http_code}", "-H", header, "--data-binary", "@body", address]
    told = await asyncio.to_thread(subprocess.run, asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (told.returncode, WHY in told.stdout, told.stdout[-4:]) == (0, True, " 413"), told


async def test_what_is_as_long_as_may_be_is_taken_whole(address: str) -> None:
    code, text = await asyncio.to_thread(by_urllib, address, b" " * MOST_OF_REPORT)
    assert (code, text) == (200, f"taken {MOST_OF_REPORT}")


@pytest.mark.parametrize("bound", [{"most": MIB}, {"within_s": 0.3}], ids=["bytes", "seconds"])
@pytest.mark.parametrize("asked", ["", "Connection: close\r\n"], ids=["", "to close"])
async def test_who_goes_on_sending_is_read_no_further_than_the_bound(
    bound: dict[str, float], asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He has had his answer; the connection ends though he announced a terabyte and never stops."""
    monkeypatch.setattr(serve, "ReadAway", lambda app: ReadAway(app, **bound))  # type: ignore[arg-type]  # one of each type
    app = Starlette(routes=[Route("/", _taken, methods=["POST"])])
    app.add_middleware(Bounded, reports="/")
    async with served(app, "127.0.0.1", 0) as address, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(f"POST / HTTP/1.1\r\nHost: x\r\n{asked}Content-Length: 1099511627776\r\n\r\n".encode())
        assert b" 413 " in await reader.readline()
        with pytest.raises(ConnectionError):
            await sent_for_ever(writer)
        writer.close()


async def sent_for_ever(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b" " * 65_536)
        await writer.drain()
        await asyncio.sleep(0.001)  # a second's worth is far more than the bound in bytes


async def test_a_session_of_a_client_goes_on_after_a_refused_request(address: str) -> None:
    def twice() -> tuple[int, int]:
        with requests.Session() as session:
            first = session.post(address, data=LONG, timeout=30)
            return first.status_code, session.post(address, data=b"ab", timeout=30).status_code

    assert await asyncio.to_thread(twice) == (413, 200)
