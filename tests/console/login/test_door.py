"""The whole application behind its door: over HTTP as a browser and as a program, on the session's bus."""

import asyncio
from collections.abc import MutableMapping
from datetime import timedelta
from typing import Any, cast

import httpx
import pytest
import structlog
from fastapi import FastAPI
from starlette.middleware import Middleware

from keepstep.console.api import application
from keepstep.console.context import Console
from keepstep.console.login.door import Door
from keepstep.console.login.opening import Login
from keepstep.contracts.orders import IsolateNode
from keepstep.contracts.taxonomy import Role
from keepstep.runtime.client import Client
from tests.console.conftest import tell
from tests.console.login.entrance import Clock, People, bearer, browser, cookies, csrf_in, csrf_of, log_in
from tests.console.said import began

API = "/api/v1"
PAGE = "/api/v1/overview"


async def test_a_person_comes_in_reads_and_goes_and_a_copy_of_the_cookie_is_worth_nothing(
    web: httpx.AsyncClient, people: People
) -> None:
    assert (await web.get(PAGE)).status_code == 401
    answer = await log_in(web, people.of(Role.VIEWER), then="/jobs?state=running")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?state=running")
    cookie = next(one for one in answer.headers.get_list("set-cookie") if "session" in one)
    assert cookie.startswith("__Host-keepstep_session=")
    assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/", "Max-Age=28800"} <= set(cookie.split("; "))
    assert (await web.get(PAGE)).status_code == 200
    kept = dict(web.cookies)
    assert (await web.post("/logout")).status_code == 403, "another site could log people out"
    csrf = csrf_of(web)
    assert (await web.post("/logout", data={"csrf": csrf})).headers["location"] == "/login"
    assert "__Host-keepstep_session" not in web.cookies
    assert (await web.get(PAGE)).status_code == 401
    assert (await web.get(PAGE, headers=cookies(kept))).status_code == 401, "the cookie was replayed"


async def test_a_person_at_a_page_is_sent_to_the_login_and_back_to_it(web: httpx.AsyncClient) -> None:
    sent = await web.get("/jobs/train?done=x%20y")
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=%2Fjobs%2Ftrain%3Fdone%3Dx%2520y")
    shown = await web.get(sent.headers["location"])
    assert 'name="next" value="/jobs/train?done=x%20y"' in shown.text
    odd = await web.get("/jobs/a%2Fb%3Fc")
    assert odd.headers["location"] == "/login?next=%2Fjobs%2Fa%252Fb%253Fc", "a slash of a name is none of the path"
    part = await web.get("/jobs", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-redirect"]) == (401, "/login")


@pytest.mark.parametrize("accept", ["zh-CN,zh;q=0.9,en;q=0.8", "fr, zh"])
async def test_the_login_speaks_chinese(web: httpx.AsyncClient, accept: str) -> None:
    shown = await web.get("/login", headers={"Accept-Language": accept})
    assert "<h1>登录</h1>" in shown.text


async def test_a_program_uses_its_token_for_what_its_role_may(
    web: httpx.AsyncClient, people: People, client: Client, console: Console
) -> None:
    await tell(client, console, *began())
    order = {"reason": "fan is loud"}
    as_viewer, as_operator = bearer(people.of(Role.VIEWER)), bearer(people.of(Role.OPERATOR))
    refused = await web.post(f"{API}/nodes/n1/isolate", json=order, headers=as_viewer)
    assert (refused.status_code, refused.json()["detail"]) == (403, "viewer-ann is viewer; this takes operator")
    assert (await web.post(f"{API}/nodes/n1/isolate", json=order, headers=as_operator)).status_code == 202
    (said,) = [one.message async for one in client.read(kind=IsolateNode.__name__)]
    assert isinstance(said, IsolateNode)
    assert (said.by, said.reason) == ("operator-ann", "fan is loud")


async def test_what_was_asked_by_whom_stands_in_the_log_without_any_secret(
    web: httpx.AsyncClient, people: People, client: Client, console: Console
) -> None:
    await tell(client, console, *began())
    structlog.reset_defaults()  # the room's tests log nothing that is expected, and this one is about just that
    with structlog.testing.capture_logs() as lines:
        await log_in(web, people.of(Role.OPERATOR))
        await log_in(web, "ks_operator-ann_" + "a" * 43)
        csrf = csrf_of(web)
        order = {"reason": "fan is loud"}
        await web.post(f"{API}/nodes/n1/isolate", json=order, headers={"X-CSRF-Token": csrf})
    asked = next(line for line in lines if line["event"] == "asked")
    assert (asked["by"], asked["role"], asked["asked"], asked["status"], asked["client"], asked["via"]) == (
        "operator-ann", "operator", f"POST {API}/nodes/n1/isolate", 202, "192.0.2.7", "token",
    )  # fmt: skip
    assert {"logged in", "refused", "asked"} <= {line["event"] for line in lines}
    secrets = [*people.tokens.values(), *web.cookies.values(), csrf, "a" * 43]
    assert not [secret for secret in secrets if secret in str(lines)]


WRONG = [
    pytest.param("ks_operator-ann_" + "a" * 43, id="another secret"),
    pytest.param("ks_nobody_" + "a" * 43, id="nobody's"),
    pytest.param("hunter2", id="no token at all"),
    pytest.param("", id="nothing"),
    pytest.param("é" * 20, id="no ascii"),
    pytest.param("a" * 3000, id="long"),
]


@pytest.mark.parametrize("token", WRONG)
async def test_a_wrong_token_lets_nobody_in(web: httpx.AsyncClient, token: str) -> None:
    answer = await log_in(web, token)
    assert (answer.status_code, "The token is wrong" in answer.text) == (401, True)
    assert "__Host-keepstep_session" not in web.cookies
    shown = token.encode() or b"x"
    program = await web.get(PAGE, headers=[(b"Authorization", b"Bearer " + shown)])
    assert (program.status_code, program.headers["www-authenticate"]) == (401, 'Bearer realm="keepstep"')


async def test_a_wrong_token_is_not_mended_by_a_session(web: httpx.AsyncClient, people: People) -> None:
    await log_in(web, people.of(Role.ADMIN))
    assert (await web.get(PAGE, headers=bearer("ks_admin-ann_" + "a" * 43))).status_code == 401


async def test_a_session_that_is_over_forged_or_garbled_lets_nobody_in(
    web: httpx.AsyncClient, people: People, clock: Clock
) -> None:
    await log_in(web, people.of(Role.VIEWER))
    kept = web.cookies["__Host-keepstep_session"]
    web.cookies.clear()
    body, _, mark = kept.partition(".")
    for forged in (f"{body[:-2]}AA.{mark}", f"{body}.{mark[::-1]}", body, "x", "", "." * 4000):
        assert (await web.get(PAGE, headers=cookies({"__Host-keepstep_session": forged}))).status_code == 401
    assert (await web.get(PAGE, headers=cookies({"keepstep_session": kept}))).status_code == 401, "set in clear"
    assert (await web.get(PAGE, headers=cookies({"__Host-keepstep_session": kept}))).status_code == 200
    clock.pass_(timedelta(hours=8))
    assert (await web.get(PAGE, headers=cookies({"__Host-keepstep_session": kept}))).status_code == 401


async def test_whoever_logs_in_gets_a_session_of_his_own_and_the_one_before_it_is_over(
    web: httpx.AsyncClient, people: People
) -> None:
    """A session that somebody else had put into the browser would be his as well."""
    await log_in(web, people.of(Role.VIEWER))
    planted = dict(web.cookies)
    await log_in(web, people.of(Role.ADMIN))
    assert web.cookies["__Host-keepstep_session"] != planted["__Host-keepstep_session"]
    web.cookies.clear()
    assert (await web.get(PAGE, headers=cookies(planted))).status_code == 401


async def test_a_token_taken_out_of_the_file_ends_its_sessions_and_a_lower_role_counts_at_once(
    web: httpx.AsyncClient, people: People
) -> None:
    await log_in(web, people.of(Role.OPERATOR))
    csrf = {"X-CSRF-Token": csrf_of(web)}
    assert (await web.post(f"{API}/nodes/n1/release", json={"reason": "r"}, headers=csrf)).status_code == 404
    people.put("operator-ann", Role.VIEWER, anew=False)
    assert (await web.post(f"{API}/nodes/n1/release", json={"reason": "r"}, headers=csrf)).status_code == 403
    assert (await web.get(PAGE)).status_code == 200
    people.drop("operator-ann")
    assert (await web.get(PAGE)).status_code == 401


async def test_guessing_is_stopped_for_that_address_alone_and_hurts_nobody_who_is_known(
    app: FastAPI, web: httpx.AsyncClient, people: People
) -> None:
    known = bearer(people.of(Role.VIEWER))
    assert (await web.get(PAGE, headers=known)).status_code == 200
    guesses = [await web.get(PAGE, headers=bearer(f"ks_admin-ann_{n:043}")) for n in range(12)]
    assert [one.status_code for one in guesses] == [401] * 10 + [429] * 2
    assert 0 < int(guesses[-1].headers["retry-after"]) <= 300
    page = await log_in(web, people.of(Role.ADMIN))
    assert (page.status_code, "Too many attempts" in page.text) == (429, True)
    assert (await web.get(PAGE, headers=known)).status_code == 200
    async with browser(app, client="192.0.2.8") as other:
        assert (await log_in(other, people.of(Role.ADMIN))).status_code == 303


async def test_guesses_side_by_side_are_as_many_as_one_after_the_other(web: httpx.AsyncClient) -> None:
    tries = (web.get(PAGE, headers=bearer(f"ks_admin-ann_{n:043}")) for n in range(40))
    statuses = sorted(one.status_code for one in await asyncio.gather(*tries))
    assert statuses == [401] * 10 + [429] * 30


async def test_a_page_s_own_forms_are_taken_and_offer_what_the_role_may(
    web: httpx.AsyncClient, people: People, client: Client, console: Console
) -> None:
    await tell(client, console, *began())
    offers = {Role.VIEWER: (False, False), Role.OPERATOR: (True, False), Role.ADMIN: (True, True)}
    for role, (stops, pauses) in offers.items():
        await log_in(web, people.of(role))
        page = (await web.get("/jobs/train")).text
        assert ("/stop" in page, "/pause" in page) == (stops, pauses)
        assert (await web.post("/jobs/train/stop", data={"csrf": "x", "reason": "r"})).status_code == 403
        if stops:
            form = {"csrf": csrf_in(page), "reason": "done with it"}
            assert (await web.post("/jobs/train/stop", data=form)).status_code == 303
        assert (await web.post("/logout", data={"csrf": csrf_in(page)})).status_code == 303
        assert (await web.get("/jobs/train")).status_code == 303


def is_door(one: Middleware) -> bool:
    return cast("object", one.cls) is Door


async def test_without_its_door_an_application_with_a_login_answers_nobody(console: Console, login: Login) -> None:
    app = application(console, login=login)
    app.user_middleware = [one for one in app.user_middleware if not is_door(one)]
    async with browser(app) as web:
        assert (await web.get(PAGE)).status_code == 401


async def test_a_stream_ends_soon_after_its_reader_was_put_out(
    console: Console, login: Login, people: People, clock: Clock
) -> None:
    app = application(console, login=login)
    for one in app.user_middleware:
        if is_door(one):
            one.kwargs["look_s"] = 0.05
    token, sent = people.of(Role.VIEWER), asyncio.Queue[MutableMapping[str, Any]]()
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "https",
        "path": f"{API}/stream", "raw_path": b"", "query_string": b"", "root_path": "", "server": ("h", 443),
        "client": ("192.0.2.7", 1), "headers": [(b"authorization", f"Bearer {token}".encode())],
    }  # fmt: skip
    first = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if first:
            return first.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async with asyncio.timeout(20):
        asking = asyncio.create_task(app(scope, receive, sent.put))
        assert (await sent.get())["status"] == 200
        assert (await sent.get())["body"] == b"retry: 2000\n\n"
        assert not asking.done()
        people.drop("viewer-ann")
        await asking
    assert sent.get_nowait() == {"type": "http.response.body", "body": b"", "more_body": False}
    assert len(console.hub) == 0
