"""What a name, a line or a reason holds is text, wherever a page shows it."""

import re

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid
from keepstep.contracts.topology import JobRef
from tests.console.pages.site import Site
from tests.console.said import began, exited, say, struck

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


def addresses(text: str) -> set[str]:
    """Return where the main part of a page leads."""
    return set(re.findall(r'href="(/(?:jobs|nodes|incidents)/[^"]+)"', text))


async def test_every_page_and_what_it_leads_to_shows_it_as_text(site: Site) -> None:
    async with site.asked() as browser:
        paths = {"/", "/jobs", "/incidents", "/faults", "/nodes", "/events"}
        seen: set[str] = set()
        while paths - seen:
            path = min(paths - seen)
            seen.add(path)
            answer = await browser.get(path)
            assert answer.status_code == 200, path
            body = answer.text
            assert "<script>alert" not in body
            assert not {"\u202e", "\u0000"} & set(body)
            assert LONG not in body, "a line of 5,000 characters is cut"
            paths |= addresses(body)
    assert len(seen) >= 9, "a job, an incident and a node among them"


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
