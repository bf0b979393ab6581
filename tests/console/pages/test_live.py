"""A page is told that it is behind: once for a burst, at once if it already is, never of what it does not show."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Message as Sent

from keepstep.console.pages.live import Follow, PageStream
from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid
from keepstep.contracts.topology import JobRef
from tests.console.pages.site import Site
from tests.console.said import began, say, struck


@asynccontextmanager
async def following(site: Site, follow: Follow, since: int | None = None) -> AsyncIterator[list[bytes]]:
    """What a page is sent that shows what was said up to a cursor, up to now unless it is said."""
    lines: list[bytes] = []
    last = site.model.recent.last
    stream = PageStream(
        site.hub, site.hub.join("ann", follow.test()), lambda: site.model.recent.last, progress=follow.progress,
        behind=since is not None and since < last,
    )  # fmt: skip

    async def send(message: Sent) -> None:
        if b"changed" in message.get("body", b""):
            lines.append(message["body"])

    async def receive() -> Sent:
        await asyncio.Event().wait()
        return {}

    serving = asyncio.ensure_future(stream({}, receive, send))
    await asyncio.sleep(0)  # it begins to listen
    try:
        yield lines
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def heard(lines: list[bytes], count: int) -> None:
    async with asyncio.timeout(20):
        while len(lines) < count:  # noqa: ASYNC110 - a list has no event of its own
            await asyncio.sleep(0.01)


async def test_a_burst_is_one_word_with_the_newest_cursor() -> None:
    site = Site()
    async with following(site, Follow()) as lines:
        site.tell(*began(), *struck("i1", 10, victims=(0, 1)))
        await heard(lines, 1)
        assert lines == [f"id: {site.model.recent.last}\nevent: changed\ndata: {site.model.recent.last}\n\n".encode()]
        site.tell(say(e.JobWaiting, 30, because="no node"))
        await heard(lines, 2)


async def test_a_page_that_is_behind_when_it_begins_to_listen_is_told_at_once() -> None:
    site = Site()
    site.tell(*began())
    async with following(site, Follow(), since=1) as lines:
        await heard(lines, 1)


async def test_a_page_of_one_job_hears_of_it_and_of_what_stands_atop_every_page() -> None:
    site = Site()
    site.tell(*began())
    wanted = Follow(job="somebody-else").test()
    told = [event for event in site.model.recent.after(0) if wanted(event)]
    assert told == []
    site.tell(*struck("i1", 10))
    assert {event.name for event in site.model.recent.after(0) if wanted(event)} == {"IncidentOpened", "IncidentClosed"}


async def test_steps_are_told_only_to_pages_that_show_them() -> None:
    site = Site()
    async with following(site, Follow()) as still, following(site, Follow(progress=True)) as moving:
        site.hub.cast("progress", "[]")
        await heard(moving, 1)
        site.tell(say(e.JobWaiting, 30, because="no node"))
        await heard(still, 1)
    assert len(still) == 1


async def test_a_page_asks_for_its_live_part_where_it_was_asked_for_itself() -> None:
    """Of a job by the name a/b?c it asked for a page of the job b."""
    site, job = Site(), JobRef(name="train", uid=JobUid("a/b?c"))
    site.tell(*began(job))
    async with site.asked() as browser:
        text = (await browser.get("/jobs/a%2Fb%3Fc", params={"theme": "dark"})).text
    assert 'hx-get="/jobs/a%2Fb%3Fc?theme=dark"' in text


async def test_the_address_of_the_stream_names_what_the_page_shows() -> None:
    assert Follow(job="a&b", progress=True).address(7) == "/live?job=a%26b&progress=1&since=7"


async def test_there_are_only_as_many_streams_as_are_served() -> None:
    site = Site()
    for number in range(80):
        site.hub.join(f"p{number}", lambda _event: True)
    async with site.asked() as browser:
        answer = await browser.get("/live", params={"since": 0})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "10")
