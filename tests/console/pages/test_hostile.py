"""What a name, a line or a reason holds is text, wherever a page shows it."""

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message, messages
from keepstep.contracts.topology import JobRef
from tests.console.pages.site import Site
from tests.console.said import POOL, began, exited, say, struck
from tests.contracts.examples import example

EVIL = "\"'><script>alert(1)</script>\u202e\u0000"
LONG = "x" * 5000
JOB = JobRef(name=EVIL, uid=JobUid("u/../1?#<"))


@pytest.fixture(scope="module")
def site() -> Site:
    found = Site()
    found.tell(*began(job=JOB), *struck(f"i{EVIL}", 10, job=JOB, end=False), exited(1, 11, job=JOB, line=EVIL + LONG))
    found.tell(say(e.JobWaiting, 12, job=JOB, because=LONG + EVIL))
    found.tell(say(e.NodeReported, 13, job=None, node=f"n{EVIL}", condition=EVIL, text=EVIL + LONG))
    found.tell(say(e.NodeIsolated, 14, job=None, node=f"n{EVIL}", reason="r", because=EVIL))
    return found


def hostile(kind: type[Message]) -> Message:
    """Return a message of a kind in which every word that its speaker is free to choose means harm."""
    return kind.model_validate(_turned(json.loads(example(kind).model_dump_json())) | {"pool": POOL})


def _turned(value: Any) -> Any:
    match value:
        case dict():
            return {key: _turned(one) for key, one in value.items()}
        case list():
            return [_turned(one) for one in value]
        case str() if value.endswith("-1"):  # as examples have it: a word of a closed set, a date, a pattern has not
            return EVIL
        case _:
            return value


@pytest.fixture(scope="module")
def overrun() -> Site:
    """A pool in which every message there is was said by somebody who means harm."""
    found = Site()
    found.tell(*(hostile(kind) for kind in messages().values()))
    found.tell(*(one.model_copy(update={"id": f"{name} again"}) for name, one in opening()))
    return found


def opening() -> Iterable[tuple[str, Message]]:
    """Yield once more what opens things that other messages have ended."""
    for kind in (e.JobAccepted, e.JobStarted, e.FaultDetected, e.IncidentOpened, e.FaultDiagnosed, e.EvidenceCaptured):
        yield kind.__name__, hostile(kind)


def addresses(text: str) -> set[str]:
    """Return where the main part of a page leads."""
    return set(re.findall(r'href="(/(?:jobs|nodes|incidents)/[^"]+)"', text))


async def crawled(site: Site, **asked: str) -> dict[str, str]:
    """Return every page and what it leads to, by address."""
    seen: dict[str, str] = {}
    async with site.asked() as browser:
        paths = {"/", "/jobs", "/incidents", "/faults", "/nodes", "/events"}
        while left := paths - seen.keys():
            path = min(left)
            answer = await browser.get(path, params=asked)
            assert answer.status_code == 200, path
            seen[path] = answer.text
            paths |= addresses(answer.text)
    return seen


async def test_every_page_and_what_it_leads_to_shows_it_as_text(site: Site) -> None:
    seen = await crawled(site)
    for body in seen.values():
        assert "<script>alert" not in body
        assert not {"\u202e", "\u0000"} & set(body)
        assert LONG not in body, "a line of 5,000 characters is cut"
    assert len(seen) >= 9, "a job, an incident and a node among them"


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_whatever_is_said_by_whomever_is_shown_as_text(overrun: Site, language: str) -> None:
    seen = await crawled(overrun, lang=language)
    for path, body in seen.items():
        assert "<script>alert" not in body, path
        assert not {"\u202e", "\u0000"} & set(body), path
        assert not re.search(r"\son\w+=", body), path
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in "".join(seen.values())
    assert {path.split("/")[1] for path in seen} == {"", "jobs", "incidents", "faults", "nodes", "events"}


async def test_the_api_gives_it_as_data_of_which_a_browser_makes_no_page(overrun: Site) -> None:
    async with overrun.asked() as web:
        for path in ("overview", "jobs", "incidents", "faults", "nodes", "events", "statistics"):
            answer = await web.get(f"/api/v1/{path}")
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/jobs", "/incidents", "/nodes", "/events", "/faults"])
async def test_what_was_searched_for_comes_back_as_text(site: Site, path: str) -> None:
    async with site.asked() as browser:
        body = (await browser.get(path, params={"text": EVIL[:-1], "node": EVIL[:-1], "job": EVIL[:-1]})).text
    assert "<script>alert" not in body


async def test_a_mistake_in_a_form_comes_back_as_text_and_what_was_written_stays(site: Site) -> None:
    async with site.asked() as browser:
        body = (await browser.post("/create", data={"argv": "python3", "name": EVIL, "nodes": "1", "nproc": "1"})).text
    assert "<script>alert" not in body
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
