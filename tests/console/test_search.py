"""The search in events: beyond what is at hand it goes through the stream, part by part, and says how far it came."""

import re
from typing import Any

import httpx
import pytest

from keepstep.console.api import application
from keepstep.console.context import Console
from keepstep.contracts import events as e
from keepstep.runtime.client import Client
from keepstep.runtime.names import stream_name
from tests.console.conftest import tell
from tests.console.said import began, say, struck


def keep(console: Console, most: int) -> None:
    """Have the console hold only so many events at hand."""
    recent = console.board.model.recent
    recent._events = type(recent._events)(maxlen=most)


async def pages(web: httpx.AsyncClient, **asked: Any) -> list[dict[str, Any]]:
    """Return the listings of a search to its end."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["next"] is not None:
        before = {"before": found[-1]["next"]} if found else {}
        found.append((await web.get("/events", params=asked | before)).json())
        assert len(found) < 50, "it has no end"
    return found


def cursors(listings: list[dict[str, Any]]) -> list[int]:
    return [event["cursor"] for one in listings for event in one["items"]]


async def test_events_that_are_no_longer_at_hand_are_read_from_the_stream(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    await tell(client, console, *began(), *struck("i1", 10))
    everything = (await web.get("/events")).json()["items"]
    keep(console, 3)
    await tell(client, console, say(e.JobWaiting, 50, because="no node"))
    assert cursors(await pages(web, limit=4)) == [
        everything[0]["cursor"] + 1,
        *(event["cursor"] for event in everything),
    ]


@pytest.mark.parametrize(("limit", "window"), [(1, 1), (1, 3), (2, 3), (3, 1), (3, 500), (7, 3), (500, 1), (500, 500)])
async def test_nothing_that_fits_is_missed_or_told_twice_however_it_is_read(
    client: Client, console: Console, web: httpx.AsyncClient, limit: int, window: int
) -> None:
    await tell(client, console, *began(), *struck("i1", 10), *struck("i2", 30, victims=(0, 1)))
    wanted = cursors(await pages(web, name="FaultDetected,IncidentOpened", limit=500))
    console.live.window = window
    keep(console, 2)
    await tell(client, console, say(e.JobWaiting, 50, because="no node"))
    assert len(wanted) == 6
    assert cursors(await pages(web, name="FaultDetected,IncidentOpened", limit=limit)) == wanted


async def test_a_search_that_came_to_no_end_says_so_and_how_far_it_came(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    """Its page said that nothing fits, when five hundred messages of sixty thousand had been looked at."""
    await tell(client, console, *began(), *(say(e.JobWaiting, 20 + n, because=f"no node {n}") for n in range(30)))
    console.live.window = 5
    keep(console, 2)
    await tell(client, console, say(e.JobWaiting, 90, because="the last"))
    first, *_, last = await pages(web, text="job accepted")
    assert (first["items"], first["next"] is not None) == ([], True)
    assert first["since"] is not None
    assert [event["name"] for event in last["items"]] == ["JobAccepted"]
    transport = httpx.ASGITransport(app=application(console))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8700") as browser:
        path, seen = "/events?text=job+accepted", []
        while path:
            text = (await browser.get(path)).text
            seen.append(text)
            path = next(iter(re.findall(r'href="(/events\?[^"]*before=[^"]+)"', text)), "").replace("&amp;", "&")
    assert "Nothing that fits in what was searched so far." in seen[0]
    assert "Search on in what is older" in seen[0]
    assert 'id="searched"' in seen[0]
    assert seen[-1].count('<tr id="event-') == 1
    assert not [text for text in seen if "Nothing was said that fits." in text]


async def test_a_search_reads_no_further_part_once_its_time_is_over(
    client: Client, console: Console, web: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine with much to do a search took 1.8 s, since it read as many messages as on an idle one."""
    monkeypatch.setattr("keepstep.console.live.PART", 10)
    await tell(client, console, *began(), *(say(e.JobWaiting, 20 + n, because=f"no node {n}") for n in range(50)))
    keep(console, 2)
    await tell(client, console, say(e.JobWaiting, 90, because="the last"))
    cursor = console.board.model.recent.oldest
    console.live._monotonic = lambda: 0.0
    assert len(await pages(web, text="job accepted")) == 1
    slow = iter(range(10_000))
    console.live._monotonic = lambda: float(next(slow))
    first, *rest = await pages(web, text="job accepted")
    assert first["next"] == cursor - 10
    assert len(rest) == -(-(cursor - 1) // 10) - 1
    assert [event["name"] for event in rest[-1]["items"]] == ["JobAccepted"]


async def test_a_search_ends_where_the_stream_begins_and_not_long_after(
    client: Client, console: Console, web: httpx.AsyncClient
) -> None:
    await tell(client, console, *began(), *(say(e.JobWaiting, 20 + n, because=f"no node {n}") for n in range(60)))
    console.live.window = 5
    keep(console, 2)
    end = await client.last_sequence()
    await client.js.purge_stream(stream_name(client.pool), seq=end - 7)
    await tell(client, console, say(e.JobWaiting, 99, because="the last"))
    listings = await pages(web, limit=500)
    assert len(listings) <= 3, "what retention has taken is not searched"
    assert cursors(listings) == list(range(end + 1, end - 8, -1))


async def test_a_listing_says_that_the_console_still_reads(console: Console, web: httpx.AsyncClient) -> None:
    assert (await web.get("/events")).json()["caught_up"] is True
    console.live.caught_up = False
    assert (await web.get("/events")).json()["caught_up"] is False
