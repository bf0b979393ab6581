"""The live stream on a real port: at once, resumable, and no subscriber waits for another."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest

from keepstep.console import hub, serve, streaming
from keepstep.console.api import application
from keepstep.console.context import Console
from keepstep.console.hub import Full, Hub
from keepstep.console.model.recent import Wanted, event_view
from keepstep.console.serve import served
from keepstep.contracts import events as e
from keepstep.runtime.client import Client
from tests.console.conftest import tell
from tests.console.said import beat, began, say, struck
from tests.console.waiting import until


class Reader:
    """One subscriber over a plain socket, who reads only when he is asked to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    async def next(self, *names: str, within: float = 20) -> dict[str, Any]:
        """Return the next event (of these names) with its id."""
        async with asyncio.timeout(within):
            while True:
                fields = await self._message()
                if "event" in fields and (not names or fields["event"] in names):
                    return {**json.loads(fields["data"]), "event": fields["event"], "at": fields.get("id")}

    async def _message(self) -> dict[str, str]:
        lines: list[str] = []
        while (line := (await self._reader.readline()).decode().rstrip("\r\n")) or not lines:
            if line:
                lines.append(line)
            elif self._reader.at_eof():
                raise EOFError
        return dict(line.split(": ", 1) for line in lines if ": " in line)


@asynccontextmanager
async def subscribed(address: str, query: str = "", *headers: str) -> AsyncIterator[Reader]:
    """Subscribe over a socket with small buffers."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=4096)
    asked = [f"GET /api/v1/stream{query} HTTP/1.0", f"Host: {host}:{port}", *headers, "", ""]
    writer.write("\r\n".join(asked).encode())
    await reader.readuntil(b"\r\n\r\n")
    try:
        yield Reader(reader, writer)
    finally:
        writer.close()


@pytest.fixture
async def address(console: Console) -> AsyncIterator[str]:
    async with served(application(console), "127.0.0.1", 0) as found:
        yield found
        console.hub.close()


async def test_an_event_arrives_within_a_second(client: Client, console: Console, address: str) -> None:
    async with subscribed(address) as reader:
        await until(lambda: len(console.hub) == 1)
        waiting = say(e.JobWaiting, 1, because="no node").model_copy(update={"pool": client.pool})
        await client.say(waiting)
        began_at = asyncio.get_running_loop().time()
        event = await reader.next("JobWaiting")
        assert event["id"] == waiting.id
        assert asyncio.get_running_loop().time() - began_at < 1


async def test_a_subscriber_hears_what_he_asked_for_alone(client: Client, console: Console, address: str) -> None:
    async with subscribed(address, "?name=IncidentOpened,IncidentClosed&job=train") as reader:
        await until(lambda: len(console.hub) == 1)
        await tell(client, console, *began(), *struck("i1", 10))
        assert [(await reader.next())["event"] for _ in range(2)] == ["IncidentOpened", "IncidentClosed"]


async def test_who_was_cut_off_is_told_what_he_missed(client: Client, console: Console, address: str) -> None:
    await tell(client, console, *began(), *struck("i1", 10))
    first = console.board.events(Wanted(name="IncidentOpened")).items[0].cursor
    async with subscribed(address, "", f"Last-Event-ID: {first}") as reader:
        events = [await reader.next() for _ in range(4)]
    assert [event["event"] for event in events] == ["FaultDiagnosed", "RecoveryPlanned", "JobResumed", "IncidentClosed"]
    assert int(events[0]["at"]) == first + 1


async def test_the_progress_of_jobs_is_told(client: Client, console: Console, address: str) -> None:
    await tell(client, console, *began())
    async with subscribed(address) as reader:
        await until(lambda: len(console.hub) == 1)
        console.board.model.feel(beat(step=77).model_copy(update={"pool": client.pool}), console.now())
        async with asyncio.timeout(20):
            while True:
                fields = await reader._message()
                if fields.get("event") == "progress" and json.loads(fields["data"])[0]["step"] == 77:
                    return


async def test_a_subscriber_who_never_reads_is_let_go_and_holds_nobody_up(
    client: Client, console: Console, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "SEND_S", 0.5)
    async with subscribed(address), subscribed(address, "?name=JobStarted") as quick:
        await until(lambda: len(console.hub) == 2)
        event = event_view(say(e.JobWaiting, 1, because="x" * 1900), 1)
        for _ in range(40):
            for _ in range(hub.QUEUE // 2):
                console.hub.tell(event)
            await asyncio.sleep(0.02)
        await until(lambda: len(console.hub) == 1)
        await tell(client, console, *began())
        assert (await quick.next())["event"] == "JobStarted"


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the kernel of this system has no such limit")
async def test_a_connection_of_whoever_takes_nothing_is_hung_up(
    client: Client, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He was let go from the hub, and what he had not taken kept his connection and its buffers for ever."""
    monkeypatch.setattr(streaming, "SEND_S", 0.2)
    monkeypatch.setattr(serve, "UNREAD_S", 1)
    async with served(application(console), "127.0.0.1", 0) as address, subscribed(address):
        await until(lambda: len(console.hub) == 1)
        event = event_view(say(e.JobWaiting, 1, because="x" * 1900), 1)
        while len(console.hub):
            for _ in range(hub.QUEUE // 2):
                console.hub.tell(event)
            await asyncio.sleep(0.02)
        port = int(address.rpartition(":")[2])
        await until(lambda: not established(port))


def established(port: int) -> list[object]:
    """Return the connections of this process that are served on a port."""
    found = psutil.Process().net_connections("tcp")
    return [one for one in found if one.laddr.port == port and one.status == psutil.CONN_ESTABLISHED]


async def test_a_subscriber_who_falls_behind_is_told_so_and_may_come_again(console: Console) -> None:
    subscription = console.hub.join("ann", lambda _: True)
    event = event_view(say(e.JobWaiting, 1, because="x"), 1)
    for _ in range(hub.QUEUE + 1):
        console.hub.tell(event)
    assert (subscription.dropped.is_set(), len(console.hub), console.hub.dropped) == (True, 0, 1)


async def test_streams_are_counted() -> None:
    few = Hub(3)
    one, *_ = (few.join(who, lambda _: True) for who in ("ann", "bob", "eve"))
    with pytest.raises(Full, match="as are served"):
        few.join("joe", lambda _: True)
    few.leave(one)
    few.join("joe", lambda _: True)


async def test_nobody_alone_takes_all_streams() -> None:
    hub = Hub(4)
    for _ in range(2):
        hub.join("ann", lambda _: True)
    with pytest.raises(Full, match="ann has as many"):
        hub.join("ann", lambda _: True)
    hub.join("bob", lambda _: True)


async def test_a_reader_who_hangs_up_is_forgotten(console: Console, address: str) -> None:
    async with subscribed(address):
        await until(lambda: len(console.hub) == 1)
    await until(lambda: len(console.hub) == 0)
