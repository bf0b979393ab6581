"""A page in Chinese has no English sentence: whole stories told by the six services, and everything that went wrong."""

import asyncio
import re
from html import unescape

import pytest

from keepstep.contracts.events import EvidenceCaptured, FaultDetected
from keepstep.contracts.message import Message
from tests.console.pages.site import Site
from tests.pipeline.loop import simulate
from tests.pipeline.story import (
    Harm,
    cut_off_the_second_agent,
    delete_the_first_task,
    kill_a_new_rank_too,
    kill_two_ranks,
    lose_both_spares,
    tell,
)
from tests.pipeline.world import World

ENGLISH = re.compile(r"[A-Za-z]{2,}[,;:]?(?: [a-z]{2,}[,;:]?){2,}")
"""Three words in a row; names, ids and words of Kubernetes are shorter."""
HARMS = (kill_two_ranks, kill_a_new_rank_too, lose_both_spares, cut_off_the_second_agent, delete_the_first_task)


def quoted(messages: list[Message]) -> set[str]:
    """Return the lines of logs and stacks, which are shown as they were printed."""
    lines = {line for one in messages if isinstance(one, EvidenceCaptured) for line in one.lines}
    return lines | {
        line for one in messages if isinstance(one, FaultDetected) for line in getattr(one.evidence, "last_lines", ())
    }


def shown(page: str) -> list[str]:
    """Return what a page shows and reads out, but listings in monospace: logs, stacks and specifications."""
    body = re.sub(r"(?s)<(pre|script|style|code)\b.*?</\1>", "", page.partition("<body")[2])
    spoken = re.findall(r'(?:title|aria-label|placeholder|data-\w+)="([^"]*)"', body)
    return [unescape(text) for text in (*re.split(r"<[^>]*>", body), *spoken)]


def english_of(page: str, known: set[str]) -> list[str]:
    """Return the English sentences on a page that nobody quoted."""
    found = [text for text in shown(page) if ENGLISH.search(text)]
    return [text for text in found if not any(line in text for line in known)]


async def pages(site: Site, messages: list[Message]) -> list[tuple[str, str]]:
    """Return every page about what these messages tell, in Chinese."""
    about = {f"/jobs/{one.job.uid}" for one in messages if one.job is not None}
    about |= {f"/incidents/{one.incident}" for one in messages if one.incident is not None}
    about |= {f"/nodes/{one.node}" for one in messages if one.node is not None}
    found = []
    async with site.asked() as browser:
        for path in ("/", "/jobs", "/incidents", "/faults", "/nodes", "/events", "/create", *sorted(about)):
            answer = await browser.get(path, params={"lang": "zh"})
            assert answer.status_code in (200, 404), path
            if answer.status_code == 200:
                found.append((path, answer.text))
    assert len(found) > 8
    return found


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_a_story_of_the_services_is_told_in_chinese_to_the_last_sentence(harm: Harm) -> None:
    messages = simulate(tell(World(), harm)).stream.said
    site = Site()
    site.tell(*messages)
    left = {
        f"{path}: {text}"
        for path, page in asyncio.run(pages(site, messages))
        for text in english_of(page, quoted(messages))
    }
    assert sorted(left) == []


def test_an_english_sentence_would_be_found() -> None:
    page = (
        '<body><p>节点 n1</p><b title="a task is gone">x</b><pre>a line of log</pre><i>the node is not ready</i></body>'
    )
    assert english_of(page, set()) == ["the node is not ready", "a task is gone"]
    assert english_of(page, {"the node is not ready"}) == ["a task is gone"]
