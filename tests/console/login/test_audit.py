"""Who came in, went or was refused stands on the bus, and in each order by which role it was given."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from keepstep.console.access import User
from keepstep.console.api import application
from keepstep.console.audit import MOST, WAITING, Audit
from keepstep.console.context import Console
from keepstep.contracts import orders as o
from keepstep.contracts.events import AccessRefused, LoggedIn, LoggedOut
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Event
from keepstep.contracts.taxonomy import Entrance, Role
from keepstep.core.sentences import sentence
from keepstep.ports.errors import Permanent
from keepstep.runtime.client import Client
from tests.console.conftest import tell
from tests.console.login.entrance import Clock, People, bearer, browser, csrf_of, log_in
from tests.console.said import began
from tests.console.waiting import until

API = "/api/v1"
ANN = User(name="ann", role=Role.OPERATOR)


@pytest.fixture
async def told(console: Console, client: Client) -> AsyncIterator[Console]:
    """A console that tells the bus who came in."""
    async with console.audit.running(client.say):
        yield console


async def heard(client: Client, console: Console, many: int) -> list[Any]:
    """Return what the console said of people, once it is so much."""
    kinds = (LoggedIn, LoggedOut, AccessRefused)
    await until(lambda: sum(one.name in {kind.__name__ for kind in kinds} for one in shown(console)) == many)
    return [one.message async for one in client.read() if isinstance(one.message, kinds)]


def shown(console: Console) -> tuple[Any, ...]:
    return console.board.events(limit=500).items


async def test_who_came_in_by_which_role_and_how_and_who_went_is_on_the_bus(
    told: Console, web: httpx.AsyncClient, people: People, client: Client
) -> None:
    await log_in(web, people.of(Role.OPERATOR))
    for _ in range(3):
        await web.get(f"{API}/overview", headers=bearer(people.of(Role.VIEWER)))
    await web.post("/logout", data={"csrf": csrf_of(web)})
    came, program, went = await heard(client, told, 3)
    assert (came.by, came.role, came.via, came.client) == ("operator-ann", "operator", "token", "192.0.2.7")
    assert (program.by, program.via) == ("viewer-ann", Entrance.HEADER), "once, however often it asks"
    assert (went.by, went.client) == ("operator-ann", "192.0.2.7")
    assert [one.text for one in reversed(shown(told))] == [sentence(one) for one in (came, program, went)]


async def test_who_was_refused_and_why_is_on_the_bus_and_no_secret_is(
    told: Console, web: httpx.AsyncClient, people: People, client: Client
) -> None:
    wrong = "ks_admin-ann_" + "a" * 43
    await log_in(web, wrong)
    await web.get(f"{API}/overview", headers=bearer(wrong))
    await log_in(web, people.of(Role.VIEWER))
    await web.post(f"{API}/nodes/n1/isolate", json={"reason": "r"})
    await web.post(f"{API}/nodes/n1/isolate", json={"reason": "r"}, headers={"X-CSRF-Token": csrf_of(web)})
    form, header, came, forged, role = await heard(client, told, 5)
    assert (form.via, form.by, "token is wrong" in form.because) == ("token", "", True)
    assert (header.via, header.asked) == ("header", f"GET {API}/overview")
    assert isinstance(came, LoggedIn)
    assert (forged.by, forged.role, "lacks its field" in forged.because) == ("viewer-ann", "viewer", True)
    assert (role.asked, role.because) == (f"POST {API}/nodes/n1/isolate", "viewer may not do this")
    assert not [one for one in (form, header, came, forged, role) if "a" * 43 in one.model_dump_json()]


async def test_an_order_tells_by_which_role_it_was_given(
    told: Console, web: httpx.AsyncClient, people: People, client: Client
) -> None:
    await tell(client, told, *began())
    for role in (Role.OPERATOR, Role.ADMIN):
        answer = await web.post(f"{API}/nodes/n1/isolate", json={"reason": "fan"}, headers=bearer(people.of(role)))
        assert answer.status_code == 202
    await web.post(f"{API}/jobs/train/pause", headers=bearer(people.of(Role.ADMIN)))
    kinds = (o.IsolateNode, o.PauseActions)
    given = [one.message async for one in client.read() if isinstance(one.message, kinds)]
    assert [(one.by, one.role) for one in given] == [
        ("operator-ann", Role.OPERATOR), ("admin-ann", Role.ADMIN), ("admin-ann", Role.ADMIN),
    ]  # fmt: skip


async def test_a_page_of_another_site_that_is_refused_without_a_login_is_on_the_bus(
    told: Console, client: Client
) -> None:
    async with browser(application(told), at="http://127.0.0.1:8700") as web:
        await web.post("/nodes/n1/isolate", headers={"Origin": "https://evil.example"})
    (refused,) = await heard(client, told, 1)
    assert (refused.via, refused.asked) == (Entrance.LOCAL, "POST /nodes/n1/isolate")
    assert "https://evil.example" in refused.because


async def said_by(audit: Audit, many: int) -> list[Event]:
    said: list[Event] = []

    async def say(event: Event) -> None:
        said.append(event)

    async with audit.running(say):
        await until(lambda: len(said) == many)
    return said


async def test_of_a_flood_of_refusals_sixty_a_minute_are_said_and_the_others_counted() -> None:
    clock = Clock()
    audit = Audit(Pool("p"), clock)
    for number in range(MOST + 40):
        audit.refused(Entrance.HEADER, "the token is wrong", f"192.0.2.{number}", asked="GET /" + "x" * 5000)
    clock.pass_(timedelta(minutes=1))
    audit.refused(Entrance.HEADER, "the token is wrong", "198.51.100.1")
    said = await said_by(audit, MOST + 1)
    assert all(isinstance(one, AccessRefused) and len(one.asked) <= 300 for one in said)
    assert [one.unsaid for one in said if isinstance(one, AccessRefused) and one.unsaid] == [40]
    assert "40 refusals more" in sentence(said[-1])
    assert len({one.id for one in said}) == MOST + 1, "two at one instant are two"


async def test_a_bus_that_takes_nothing_holds_nobody_up_and_memory_is_bounded() -> None:
    audit, taken = Audit(Pool("p"), Clock()), asyncio.Event()

    async def say(event: Event) -> None:
        if isinstance(event, LoggedIn) and event.by == "nobody":
            raise Permanent("may not")
        taken.set()

    for number in range(2 * WAITING):
        audit.came_in(ANN.model_copy(update={"name": f"p{number}"}), Entrance.TOKEN, "")
    assert len(audit._waiting) == WAITING
    audit._waiting.clear()
    audit.came_in(ANN.model_copy(update={"name": "nobody"}), Entrance.TOKEN, "")
    audit.came_in(ANN, Entrance.TOKEN, "")
    async with asyncio.timeout(20), audit.running(say):
        await taken.wait()
