"""A console that is served on a port, whose orders are obeyed, and a browser that looks at it."""

import shutil
from collections.abc import AsyncIterator, Iterable

import pytest
from playwright.async_api import BrowserContext, Page, async_playwright

from keepstep.console.serve import served
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.message import Message
from tests.console.pages.site import Site
from tests.console.pages.stories import told

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
WAIT_MS = 20_000
"""For what should show within two seconds: the machine may have little time for a browser."""


def obey(order: Message) -> Iterable[Message]:
    """Answer an order like the service that it is for."""
    about = {"id": f"of-{order.id}", "time": order.time, "pool": order.pool, "cause": order.id}
    match order:
        case o.IsolateNode():
            yield e.NodeIsolated.model_validate(
                about | {"node": order.node, "reason": "order", "because": f"ordered by {order.by}: {order.reason}"}
            )
        case o.ReleaseNode():
            yield e.NodeReleased.model_validate(
                about | {"node": order.node, "because": f"ordered by {order.by}: {order.reason}"}
            )
        case o.AckIncident():
            yield e.IncidentAcknowledged.model_validate(
                about | {"job": order.job, "incident": order.incident, "by": order.by}
            )
        case _:
            return


@pytest.fixture
def site() -> Site:
    """A pool in which something of everything has happened, and whose services obey."""
    return told(Site(answers=obey))


@pytest.fixture
async def address(site: Site) -> AsyncIterator[str]:
    """Where the site is served."""
    async with served(site.app(), "127.0.0.1", 0) as found:
        yield found
        site.hub.close()


@pytest.fixture
async def window(address: str) -> AsyncIterator[BrowserContext]:
    """A browser's window, in English and light, in which nothing may go wrong unseen."""
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        context = await browser.new_context(
            base_url=address, locale="en-GB", color_scheme="light", viewport={"width": 1280, "height": 900}
        )
        context.set_default_timeout(WAIT_MS)
        yield context
        await browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of; a test that provokes it clears it."""
    return []


@pytest.fixture
async def page(window: BrowserContext, complaints: list[str]) -> AsyncIterator[Page]:
    """A page; what its console complains of fails the test, as what a content security policy refused."""
    found = await window.new_page()
    found.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    yield found
    assert not complaints
