"""Every route that there is: for whom it answers, whose form it takes, and how often."""

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from keepstep.console.context import Console, counted
from keepstep.console.login.door import OPEN
from keepstep.console.requested import SAFE
from keepstep.contracts.taxonomy import Role
from tests.console.login.entrance import People, bearer, browser, csrf_of, log_in
from tests.console.routes import asked_of, calls, goes_on, place_of, role_of

API = "/api/v1"
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
            if path in OPEN or path == "/static":
                continue
            if goes_on(route) and role is not None:
                continue  # whom it is for is declared, which the test above reads
            needed = (role_of(route) if isinstance(route, APIRoute) else None) or Role.VIEWER
            status = (await web.request(method, place_of(path), headers=headers)).status_code
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


@pytest.mark.parametrize(
    ("headers", "refused"),
    [({}, True), ({"X-CSRF-Token": "x"}, True), ({"X-CSRF-Token": "RIGHT", "Sec-Fetch-Site": "same-site"}, True),
     ({"X-CSRF-Token": "RIGHT"}, False)],
    ids=["no form", "garbled", "another site's", "our own"],
)  # fmt: skip
async def test_no_route_that_changes_anything_takes_another_site_s_form(
    app: FastAPI, web: httpx.AsyncClient, people: People, headers: dict[str, str], refused: bool
) -> None:
    writing = [(method, path) for method, path, _ in asked_of(app) if method not in SAFE and path not in OPEN]
    assert len(writing) > 15
    await log_in(web, people.of(Role.ADMIN))
    told = {name: value.replace("RIGHT", csrf_of(web)) for name, value in headers.items()}
    for method, path in sorted(writing, key=lambda one: one[1] == "/logout"):  # which is the last that this session may
        status = (await web.request(method, place_of(path), headers=told)).status_code
        assert (status == 403) is refused, f"{method} {path} answers {status}"


def test_every_query_and_every_order_is_counted(app: FastAPI) -> None:
    for method, path, route in asked_of(app):
        counts = isinstance(route, APIRoute) and counted in calls(route)
        asks = path.startswith(API) and path not in UNDECLARED
        orders = method not in SAFE and path not in OPEN and path != "/logout"
        assert counts or not (asks or orders), f"{method} {path} may be asked without end"


async def test_a_person_is_counted_wherever_he_asks_from_and_another_is_not_held_up(
    console: Console, app: FastAPI, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    console.limiter._most = 10
    monkeypatch.setattr("keepstep.console.context.monotonic", lambda: 7.0)  # within a second, however slow the machine
    viewer, other = people.of(Role.VIEWER), people.of(Role.OPERATOR)
    statuses = []
    for number in range(12):
        async with browser(app, client=f"192.0.2.{number}") as web:
            statuses.append((await web.get(f"{API}/statistics", headers=bearer(viewer))).status_code)
    async with browser(app) as web:
        assert (await web.get(f"{API}/statistics", headers=bearer(other))).status_code == 200
    assert statuses == [200] * 10 + [429] * 2
