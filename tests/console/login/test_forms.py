"""An order by cookie needs a form of its own session, and a login needs the form that this browser was shown."""

import httpx
import pytest
from fastapi import FastAPI

from keepstep.contracts.taxonomy import Role
from tests.console.login.entrance import People, browser, csrf_in, csrf_of, log_in

API = "/api/v1"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
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
    right = csrf_of(web)
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
        stolen = csrf_of(other)
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
