"""People of an OpenID provider, which answers over HTTP: who comes in, and everything that must not be enough."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import structlog

from keepstep.console.api import application
from keepstep.console.context import Console
from keepstep.console.login.opening import CALLBACK, opened
from keepstep.contracts.taxonomy import Role
from tests.console.login import identity as i
from tests.console.login.entrance import HERE, Clock, People, browser
from tests.console.login.identity import CLIENT, Identity
from tests.console.login.oidc import Trip, settings

PAGE = "/api/v1/overview"


async def test_a_person_comes_in_with_the_role_of_his_groups_and_lands_where_he_wanted(trip: Trip) -> None:
    shown = await trip.web.get("/login", params={"next": "/jobs"})
    assert 'href="/login/oidc?next=/jobs"' in shown.text
    assert 'name="token"' not in shown.text
    answer = await trip.come_in("/incidents?open=open")
    assert (answer.status_code, answer.headers["location"]) == (303, "/incidents?open=open")
    assert "__Host-keepstep_oidc" not in trip.web.cookies
    assert (await trip.web.get(PAGE)).status_code == 200
    session = trip.app.state.login.keeper.sessions
    who = session.read(trip.web.cookies["__Host-keepstep_session"], trip.app.state.login.now())
    assert (who.name, who.role, who.source) == ("ann", Role.OPERATOR, "oidc")


async def test_what_is_sent_along_hides_the_verifier_and_is_new_each_time(trip: Trip) -> None:
    asked = []
    for _ in range(2):
        left = await trip.web.get("/login/oidc")
        asked.append({name: one for name, (one,) in parse_qs(urlsplit(left.headers["location"]).query).items()})
    for one in ("state", "nonce", "code_challenge"):
        assert asked[0][one] != asked[1][one]
    assert "code_verifier" not in asked[0]
    assert asked[0]["redirect_uri"] == HERE + CALLBACK


WRONG: list[Any] = [
    pytest.param({"wrong": {"iss": "https://evil.example"}}, id="another issuer"),
    pytest.param({"wrong": {"aud": "another client"}}, id="another client's"),
    pytest.param({"wrong": {"aud": None}}, id="nobody's"),
    pytest.param({"wrong": {"aud": [CLIENT, "other"], "azp": "other"}}, id="another party's"),
    pytest.param({"wrong": {"exp": 1_000_000_000}}, id="expired"),
    pytest.param({"wrong": {"exp": None}}, id="for ever"),
    pytest.param({"wrong": {"iat": 4_000_000_000, "exp": 4_000_000_300}}, id="of the future"),
    pytest.param({"wrong": {"nonce": "another"}}, id="another trip's"),
    pytest.param({"wrong": {"nonce": None}}, id="no trip's"),
    pytest.param({"wrong": {"at_hash": "AAAA"}}, id="another access token's"),
    pytest.param({"sign": i.unsigned}, id="unsigned"),
    pytest.param({"sign": i.signed_with_the_secret}, id="signed with the client's secret"),
    pytest.param({"sign": i.signed_with_the_public_key_as_secret}, id="signed with the public key as secret"),
    pytest.param({"sign": i.signed_by_another_of_that_name}, id="signed by another key of that name"),
    pytest.param({"sign": i.cut}, id="cut"),
    pytest.param({"sign": lambda *_: "garbled"}, id="garbled"),
    pytest.param({"sign": lambda *_: ""}, id="empty"),
    pytest.param({"answers_with": {"iss": "https://evil.example"}}, id="an answer of another issuer"),
    pytest.param({"document": {"authorization_response_iss_parameter_supported": True}}, id="an answer of nobody"),
    pytest.param({"secret": "turned"}, id="a client it does not know"),
]


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_token_that_is_not_right_in_everything_lets_nobody_in(
    trip: Trip, there: Identity, wrong: dict[str, Any]
) -> None:
    for name, value in wrong.items():
        setattr(there, name, value)
    with structlog.testing.capture_logs():
        answer = await trip.come_in()
    assert (answer.status_code, "cannot be used now" in answer.text) == (502, True)
    assert "__Host-keepstep_session" not in trip.web.cookies
    assert (await trip.web.get(PAGE)).status_code == 401


@pytest.mark.parametrize(
    ("person", "says"),
    [
        ({"sub": "u1", "preferred_username": "eve", "groups": ["others"]}, "eve is in no group that has a role here"),
        ({"sub": "u1", "preferred_username": "<b>eve</b>", "groups": []}, "&lt;b&gt;eve&lt;/b&gt; is in no group"),
        ({"sub": "u1", "groups": ["ml"]}, "no usable name"),
    ],
)
async def test_who_has_no_role_here_is_told_so(trip: Trip, there: Identity, person: dict[str, Any], says: str) -> None:
    there.person = person
    answer = await trip.come_in()
    assert (answer.status_code, says in answer.text) == (403, True), answer.text
    assert (await trip.web.get(PAGE)).status_code == 401


async def test_a_way_back_is_good_once_in_the_browser_that_left_and_for_ten_minutes(
    trip: Trip, there: Identity, clock: Clock
) -> None:
    back = await trip.leave()
    kept = trip.web.cookies["__Host-keepstep_oidc"]
    async with browser(trip.app) as other:
        assert (await other.get(back)).status_code == 400, "another browser was logged in as its victim"
    assert (await trip.web.get(back.replace("state=", "state=x"))).status_code == 400
    assert there.asked.count("token") == 0
    assert (await trip.web.get(back)).status_code == 303
    again = await trip.web.get(back, headers={"Cookie": f"__Host-keepstep_oidc={kept}"})
    assert (again.status_code, there.asked.count("token")) == (400, 1)
    late = await trip.leave()
    clock.pass_(timedelta(minutes=10))
    assert (await trip.web.get(late)).status_code == 400


async def test_a_code_is_of_no_use_with_another_trip_s_verifier(trip: Trip) -> None:
    stolen = parse_qs(urlsplit(await trip.leave()).query)["code"][0]
    mine = urlsplit(await trip.leave())
    state = parse_qs(mine.query)["state"][0]
    answer = await trip.web.get(f"{mine.path}?code={stolen}&state={state}")
    assert answer.status_code == 502
    assert "__Host-keepstep_session" not in trip.web.cookies


async def test_who_says_no_at_the_provider_reads_that(trip: Trip) -> None:
    state = parse_qs(urlsplit(await trip.leave()).query)["state"][0]
    answer = await trip.web.get(f"{CALLBACK}?error=access_denied%E2%80%AE&state={state}")
    assert (answer.status_code, "access_denied\\u202e" in answer.text) == (403, True)


async def test_callbacks_are_limited_like_tokens_are(trip: Trip, there: Identity) -> None:
    statuses = []
    for _ in range(12):
        state = parse_qs(urlsplit(await trip.leave()).query)["state"][0]
        statuses.append((await trip.web.get(f"{CALLBACK}?code=guess&state={state}")).status_code)
    assert statuses == [502] * 10 + [429] * 2
    assert there.asked.count("token") == 10


async def test_nobody_of_the_provider_takes_the_name_of_a_token(
    console: Console, there: Identity, people: People, tmp_path: Path, clock: Clock
) -> None:
    there.person["preferred_username"] = "admin-ann"
    app = application(console, login=opened(settings(there, tmp_path, console_tokens=people.path), clock))
    async with browser(app) as web:
        answer = await Trip(web, app).come_in()
        assert (answer.status_code, "the name of a token here" in answer.text) == (403, True)
