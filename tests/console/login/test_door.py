"""The whole application behind its door: over HTTP as a browser and as a program, on the session's bus."""

import asyncio
from collections.abc import MutableMapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import httpx
import pytest
import structlog
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.middleware import Middleware

from keepstep.console.access import Needs, Role
from keepstep.console.api import application
from keepstep.console.context import Console
from keepstep.console.login.door import OPEN, SAFE, Door
from keepstep.console.login.headers import SECURE
from keepstep.console.login.opening import Login, opened
from keepstep.console.login.settings import LoginSettings
from keepstep.contracts.orders import IsolateNode
from keepstep.runtime.client import Client
from tests.console.conftest import tell
from tests.console.login.entrance import Clock, People, bearer, browser, csrf_in, log_in
from tests.console.said import began

API = "/api/v1"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
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
    csrf = login_csrf(web)
    assert (await web.post("/logout", data={"csrf": csrf})).headers["location"] == "/login"
    assert "__Host-keepstep_session" not in web.cookies
    assert (await web.get(PAGE)).status_code == 401
    assert (await web.get(PAGE, headers=cookies(kept))).status_code == 401, "the cookie was replayed"


def cookies(kept: dict[str, str]) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in kept.items())}


def login_csrf(web: httpx.AsyncClient) -> str:
    """Return what a page would put into its forms."""
    app: FastAPI = web._transport.app  # type: ignore[attr-defined]  # the client was built over it
    login: Login = app.state.login
    session = login.keeper.sessions.read(web.cookies["__Host-keepstep_session"], login.now())
    assert session is not None
    return login.keeper.sessions.csrf(session)


async def test_a_person_at_a_page_is_sent_to_the_login_and_back_to_it(web: httpx.AsyncClient) -> None:
    sent = await web.get("/jobs/train?done=x%20y")
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=%2Fjobs%2Ftrain%3Fdone%3Dx%2520y")
    shown = await web.get(sent.headers["location"])
    assert 'name="next" value="/jobs/train?done=x%20y"' in shown.text
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
        csrf = login_csrf(web)
        order = {"reason": "fan is loud"}
        await web.post(f"{API}/nodes/n1/isolate", json=order, headers={"X-CSRF-Token": csrf})
    asked = next(line for line in lines if line["event"] == "asked")
    assert (asked["by"], asked["role"], asked["path"], asked["status"], asked["client"], asked["via"]) == (
        "operator-ann", "operator", f"{API}/nodes/n1/isolate", 202, "192.0.2.7", "session by token",
    )  # fmt: skip
    assert {"logged in", "a wrong token was shown", "asked"} <= {line["event"] for line in lines}
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


async def test_a_token_taken_out_of_the_file_ends_its_sessions_and_a_lower_role_counts_at_once(
    web: httpx.AsyncClient, people: People
) -> None:
    await log_in(web, people.of(Role.OPERATOR))
    csrf = {"X-CSRF-Token": login_csrf(web)}
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


CSRF = [
    pytest.param({}, {}, 403, id="missing"),
    pytest.param({}, {"csrf": "x"}, 403, id="garbled field"),
    pytest.param({"X-CSRF-Token": "x"}, {}, 403, id="garbled header"),
    pytest.param({"X-CSRF-Token": "é"}, {}, 403, id="no ascii"),
    pytest.param({}, {"csrf": "RIGHT"}, 404, id="field"),
    pytest.param({"X-CSRF-Token": "RIGHT"}, {}, 404, id="header"),
    pytest.param({"Sec-Fetch-Site": "cross-site", "X-CSRF-Token": "RIGHT"}, {}, 403, id="another site's"),
    pytest.param({"Sec-Fetch-Site": "same-origin"}, {"csrf": "RIGHT"}, 404, id="our own page's"),
    pytest.param({"Content-Type": "text/plain"}, {"csrf": "RIGHT"}, 403, id="form that is none"),
]


@pytest.mark.parametrize(("headers", "form", "status"), CSRF)
async def test_an_order_by_cookie_needs_the_form_of_this_session(
    web: httpx.AsyncClient, people: People, headers: dict[str, str], form: dict[str, str], status: int
) -> None:
    await log_in(web, people.of(Role.ADMIN))
    right = login_csrf(web)
    told = [(name.encode(), value.replace("RIGHT", right).encode()) for name, value in headers.items()]
    data = {name: value.replace("RIGHT", right) for name, value in form.items()}
    answer = await web.post(f"{API}/jobs/none/pause", data=data, headers=told)
    assert answer.status_code == status, answer.text


async def test_a_form_of_another_session_of_the_same_person_is_refused(
    app: FastAPI, web: httpx.AsyncClient, people: People
) -> None:
    await log_in(web, people.of(Role.ADMIN))
    async with browser(app) as other:
        await log_in(other, people.of(Role.ADMIN))
        stolen = login_csrf(other)
    assert (await web.post(f"{API}/jobs/none/pause", data={"csrf": stolen})).status_code == 403


async def test_a_login_form_of_another_site_logs_nobody_in(app: FastAPI, people: People) -> None:
    token = people.of(Role.ADMIN)
    async with browser(app) as attacker, browser(app) as victim:
        csrf = csrf_in((await attacker.get("/login")).text)
        for form in ({"token": token}, {"token": token, "csrf": csrf}, {"token": token, "csrf": ""}):
            answer = await victim.post("/login", data=form)
            assert (answer.status_code, "open too long" in answer.text) == (403, True)
        assert "__Host-keepstep_session" not in victim.cookies


async def test_a_form_beyond_its_bound_is_refused_before_it_is_read_whole(
    web: httpx.AsyncClient, people: People
) -> None:
    await log_in(web, people.of(Role.ADMIN))
    big = b"a=" + b"b" * (300 * 1024)
    assert (await web.post(f"{API}/jobs/none/pause", content=big, headers=FORM)).status_code == 413
    assert (await web.post("/login", content=big, headers=FORM)).status_code == 413


def dependencies(dependant: Dependant) -> list[Dependant]:
    return [dependant, *(inner for one in dependant.dependencies for inner in dependencies(one))]


def role_of(route: APIRoute) -> Role | None:
    """Return the highest role that a route declares."""
    declared = [one.call.role for one in dependencies(route.dependant) if isinstance(one.call, Needs)]
    return max(declared, key=tuple(Role).index, default=None)


def asked_of(app: FastAPI) -> list[tuple[str, str, Any]]:
    """Return method, path and route of everything that the application answers, however deep it was included."""
    return [
        (method, str(one.path), one.original_route)
        for one in iter_route_contexts(app.routes)
        for method in sorted(getattr(one.original_route, "methods", None) or {"GET"})
        if method != "HEAD"
    ]


UNDECLARED = {f"{API}/openapi.json", "/static"}
"""What the door alone keeps: the first for whoever is in, the second is assets, for anybody."""
ADMINS = ("/pause", "/resume")
OPERATORS = {"/create"}
"""A page that is of use to whoever may order alone."""


def wanted(method: str, path: str) -> Role:
    if path.endswith(ADMINS) or path in OPERATORS:
        return Role.ADMIN if path.endswith(ADMINS) else Role.OPERATOR
    return Role.VIEWER if method in SAFE or path == "/logout" else Role.OPERATOR


def test_every_route_declares_the_role_that_it_takes(app: FastAPI) -> None:
    seen = asked_of(app)
    assert len(seen) > 20
    for method, path, route in seen:
        if path in OPEN or path in UNDECLARED:
            continue
        assert isinstance(route, APIRoute), f"{path} is no route that declares anything"
        assert role_of(route) is wanted(method, path), f"{method} {path} takes {role_of(route)}"


@pytest.mark.parametrize("role", [None, *Role])
async def test_every_route_answers_exactly_whom_it_is_for(
    app: FastAPI, console: Console, people: People, role: Role | None
) -> None:
    headers = {} if role is None else bearer(people.of(role))
    async with browser(app) as web:
        for method, path, route in asked_of(app):
            if path in OPEN or path == "/static" or "text/event-stream" in str(getattr(route, "response_class", "")):
                continue
            needed = (role_of(route) if isinstance(route, APIRoute) else None) or Role.VIEWER
            if path.endswith(("/stream", "/live")) and role is not None:
                continue  # it would go on for ever; whom it is for is declared, which the test above reads
            place = path.replace(":path}", "}").translate(str.maketrans("{}", "xx"))
            status = (await web.request(method, place, headers=headers)).status_code
            if role is None:
                assert status in (303, 401), f"{method} {path} answers anybody {status}"
            elif role.allows(needed):
                assert status not in (401, 403), f"{method} {path} refuses {role}"
            else:
                assert status == 403, f"{method} {path} answers {role} {status}"


async def test_a_route_that_forgot_to_ask_is_closed_all_the_same(app: FastAPI, people: People) -> None:
    @app.get("/forgotten")
    def forgotten() -> str:
        return "secret"

    async with browser(app) as web:
        assert (await web.get("/forgotten")).status_code == 303
        assert (await web.get("/forgotten", headers={"Accept": "*/*"})).status_code == 401
        assert (await web.get("/forgotten", headers=bearer(people.of(Role.VIEWER)))).status_code == 200
    with pytest.raises(AssertionError, match="/forgotten takes None"):
        test_every_route_declares_the_role_that_it_takes(app)


def is_door(one: Middleware) -> bool:
    return cast("object", one.cls) is Door


async def test_without_its_door_an_application_with_a_login_answers_nobody(console: Console, login: Login) -> None:
    app = application(console, login=login)
    app.user_middleware = [one for one in app.user_middleware if not is_door(one)]
    async with browser(app) as web:
        assert (await web.get(PAGE)).status_code == 401


async def test_every_answer_has_the_secure_headers(web: httpx.AsyncClient) -> None:
    for path, status in (("/login", 200), (PAGE, 401), ("/jobs", 303), ("/healthz", 200), ("/static/none", 404)):
        answer = await web.get(path)
        assert answer.status_code == status
        assert {name: answer.headers.get(name) for name in SECURE} == SECURE
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        assert path.startswith("/static") or answer.headers["cache-control"] == "no-store"
    policy = SECURE["Content-Security-Policy"]
    assert "unsafe-inline" not in policy
    assert {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy.split("; "))
    shown = (await web.get("/login")).text
    assert not any(word in shown for word in ("<script", "<style", " style=", " onclick="))


async def test_in_clear_on_this_machine_the_cookie_is_not_for_tls_alone_and_nothing_promises_tls(
    console: Console, people: People, clock: Clock
) -> None:
    login = opened(LoginSettings(console_tokens=people.path), clock)
    async with browser(application(console, login=login), at="http://127.0.0.1:8700") as web:
        answer = await log_in(web, people.of(Role.VIEWER))
        (cookie,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith("keepstep_session=")]
        assert "Secure" not in cookie
        assert "strict-transport-security" not in answer.headers
        assert (await web.get(PAGE)).status_code == 200


async def test_behind_a_proxy_tls_and_the_client_are_believed_of_a_named_address_alone(
    console: Console, people: People, clock: Clock
) -> None:
    settings = LoginSettings(console_tokens=people.path, console_proxies=("10.0.0.0/8",))
    told_all = console.settings.model_copy(update={"console_proxies": settings.console_proxies})
    app = application(replace(console, settings=told_all), login=opened(settings, clock))
    told = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.1"}
    for peer, secure in (("10.1.2.3", True), ("192.0.2.7", False)):
        async with browser(app, at="http://keepstep.example", client=peer) as web:
            answer = await web.get("/login", headers=told)
            assert ("Secure" in answer.headers["set-cookie"]) is secure
    async with browser(app, at="http://keepstep.example", client="10.1.2.3") as web:
        for n in range(10):
            await web.get(PAGE, headers=told | bearer(f"ks_admin-ann_{n:043}"))
        wrong = bearer("ks_admin-ann_" + "a" * 43)
        assert (await web.get(PAGE, headers=told | wrong)).status_code == 429
        assert (await web.get(PAGE, headers=told | wrong | {"X-Forwarded-For": "198.51.100.2"})).status_code == 401


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
