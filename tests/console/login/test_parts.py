"""The login's parts that decide and touch nothing: attempts, signatures, sessions, proxies, forms, claims, paths."""

from datetime import timedelta
from ipaddress import ip_network

import pytest

from keepstep.asking.refused import Refused
from keepstep.console.access import User
from keepstep.console.login.attempts import Attempts
from keepstep.console.login.claims import user_of
from keepstep.console.login.forms import TooLong, fields, given_again, taken
from keepstep.console.login.forwarded import client_of
from keepstep.console.login.routes import path_of
from keepstep.console.login.sessions import Session, Sessions
from keepstep.console.login.signing import Signer
from keepstep.console.login.tokens import Entry
from keepstep.console.login.trips import LASTS, Trips, Waiting
from keepstep.contracts.taxonomy import Role
from tests.console.login.entrance import Clock

ANN = User(name="ann", role=Role.OPERATOR)


def test_the_eleventh_wrong_attempt_waits_until_the_first_is_five_minutes_old() -> None:
    attempts = Attempts()
    assert [attempts.begin("192.0.2.1", second) for second in range(10)] == [0.0] * 10
    assert attempts.begin("192.0.2.1", 100) == 200
    assert attempts.begin("192.0.2.2", 100) == 0
    assert attempts.begin("192.0.2.1", 300) == 0
    assert attempts.begin("192.0.2.1", 300) > 0


def test_a_right_attempt_takes_back_itself_and_no_wrong_one_before_it() -> None:
    attempts = Attempts(most=2)
    attempts.begin("192.0.2.1", 0)
    for _ in range(5):
        assert attempts.begin("192.0.2.1", 1) == 0
        attempts.right("192.0.2.1")
    attempts.begin("192.0.2.1", 2)
    assert attempts.begin("192.0.2.1", 3) > 0


def test_attempts_from_one_customer_s_ipv6_addresses_are_one_s_and_memory_is_bounded() -> None:
    attempts = Attempts(most=2, kept=100)
    assert [attempts.begin(f"2001:db8:1:1::{n}", 0) > 0 for n in (1, 2, 3)] == [False, False, True]
    assert attempts.begin("2001:db8:1:2::1", 0) == 0
    for n in range(5000):
        attempts.begin(f"10.0.{n // 250}.{n % 250}", 1)
    assert len(attempts) == 100


def test_what_was_signed_comes_back_and_anything_else_does_not() -> None:
    signer = Signer()
    session = Sessions(signer, timedelta(hours=1), dict).begin(ANN, Clock().now)
    text = signer.sign("session", session)
    assert signer.read("session", text, Session) == session
    body, _, mark = text.partition(".")
    admin = signer.sign("other", session.model_copy(update={"role": Role.ADMIN})).partition(".")[0]
    forged = [
        f"{admin}.{mark}",
        f"{body}.{mark[:-1]}",
        body,
        f".{mark}",
        "",
        "é.é",
        "a" * 5000,
        f"{body}A.{mark}",
        f"{body}.é",
    ]
    assert [signer.read("session", one, Session) for one in forged] == [None] * len(forged)
    assert signer.read("form", text, Session) is None, "signed for another purpose"
    assert Signer().read("session", text, Session) is None, "signed by another process"


def test_a_session_ends_by_time_by_logging_out_and_with_its_token_s_line() -> None:
    clock = Clock()
    entries = {"ann": Entry("ann", Role.OPERATOR, "h1")}
    sessions = Sessions(Signer(), timedelta(hours=8), lambda: entries)
    one, two = (sessions.begin(ANN, clock.now, entry=entries["ann"]) for _ in range(2))
    assert sessions.read(sessions.cookie(one), clock.now + timedelta(hours=8, seconds=-1)) == one
    assert sessions.read(sessions.cookie(one), clock.now + timedelta(hours=8)) is None
    sessions.end(one, clock.now)
    assert sessions.read(sessions.cookie(one), clock.now) is None
    assert sessions.read(sessions.cookie(two), clock.now) == two
    entries["ann"] = Entry("ann", Role.VIEWER, "h1")
    assert sessions.user(two, clock.now) == User(name="ann", role=Role.VIEWER), "the role is the one of now"
    entries["ann"] = Entry("ann", Role.OPERATOR, "h2")
    assert sessions.user(two, clock.now) is None
    del entries["ann"]
    assert sessions.user(two, clock.now) is None


def test_a_form_of_one_session_is_none_of_another() -> None:
    sessions = Sessions(Signer(), timedelta(hours=8), dict)
    one, two = (sessions.begin(ANN, Clock().now) for _ in range(2))
    assert sessions.has_csrf(one, sessions.csrf(one))
    assert not sessions.has_csrf(two, sessions.csrf(one))
    assert not sessions.has_csrf(one, "")


PROXIES = (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32"))


@pytest.mark.parametrize(
    ("peer", "told", "client"),
    [
        ("192.0.2.9", ["198.51.100.1"], "192.0.2.9"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("2001:db8::1", ["[2001:dead::1]:443"], "2001:dead::1"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
    ],
)
def test_of_forwarded_addresses_only_what_a_named_proxy_saw_is_believed(
    peer: str, told: list[str], client: str
) -> None:
    assert client_of(peer, told, PROXIES) == client


async def test_a_form_is_read_within_its_bound_and_left_to_the_route() -> None:
    pieces = [b"a=1&cs", b"rf=x%2Fy&a=2"]
    messages = [{"type": "http.request", "body": one, "more_body": one is pieces[0]} for one in pieces]

    async def receive() -> dict[str, object]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    body = await taken(receive)
    assert fields(body) == {"a": "2", "csrf": "x/y"}
    again = given_again(body, receive)
    assert [(await again())["type"] for _ in range(2)] == ["http.request", "http.disconnect"]
    messages[:] = [{"type": "http.request", "body": b"x" * 11, "more_body": True}]
    with pytest.raises(TooLong):
        await taken(receive, most=10)
    with pytest.raises(ConnectionError):
        await taken(receive)


@pytest.mark.parametrize("body", [b"\xff\xfe=1", b"&".join([b"a=1"] * 600), b""])
def test_what_is_no_form_of_ours_has_no_fields(body: bytes) -> None:
    assert fields(body) == {}


ROLES = {"ml": Role.OPERATOR, "everybody": Role.VIEWER, "sre": Role.ADMIN}


@pytest.mark.parametrize(
    ("claims", "claim", "role"),
    [
        ({"groups": ["everybody"]}, "groups", Role.VIEWER),
        ({"groups": ["everybody", "sre", "ml"]}, "groups", Role.ADMIN),
        ({"groups": "ml"}, "groups", Role.OPERATOR),
        ({"realm_access": {"roles": ["ml"]}}, "realm_access.roles", Role.OPERATOR),
        ({"https://x.example/groups": ["ml"]}, "https://x.example/groups", Role.OPERATOR),
    ],
)
def test_the_role_is_the_highest_of_the_groups(claims: dict[str, object], claim: str, role: Role) -> None:
    told = {"preferred_username": "ann"} | claims
    assert user_of(told, name_claim="preferred_username", groups_claim=claim, roles=ROLES) == User(
        name="ann", role=role
    )


@pytest.mark.parametrize("groups", [None, [], ["others"], "others", {"ml": True}, [["ml"]], [None], 7])
def test_who_is_in_no_group_with_a_role_does_not_come_in(groups: object) -> None:
    with pytest.raises(Refused, match="ann is in no group that has a role here"):
        user_of({"name": "ann", "groups": groups}, name_claim="name", groups_claim="groups", roles=ROLES)


@pytest.mark.parametrize("name", [None, "", " ", "a\nb", "a" * 101, 7, ["ann"], "\u202eann"])
def test_who_has_no_usable_name_does_not_come_in(name: object) -> None:
    with pytest.raises(Refused, match="no usable name"):
        user_of({"name": name, "groups": ["ml"]}, name_claim="name", groups_claim="groups", roles=ROLES)


@pytest.mark.parametrize(
    ("asked", "goes"),
    [
        ("/jobs?state=running", "/jobs?state=running"),
        (None, "/"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example/", "/"),
        ("\\\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("/jobs\r\nSet-Cookie: a=b", "/"),
        ("javascript:alert(1)", "/"),
        ("/logout", "/"),
        ("/login?next=/login", "/"),
        ("/" + "a" * 3000, "/"),
    ],
)
def test_after_the_login_a_browser_goes_to_a_page_of_ours_alone(asked: str | None, goes: str) -> None:
    assert path_of(asked) == goes


def test_who_comes_back_is_let_in_once_by_the_browser_that_left_and_in_time() -> None:
    clock, trips = Clock(), Trips(Signer())
    waiting = trips.begin("/jobs", clock.now)
    cookie = trips.cookie(waiting)
    assert trips.back(None, waiting.state, clock.now) is None
    assert trips.back(cookie, "other", clock.now) is None
    assert trips.back(cookie, None, clock.now) is None
    assert trips.back(Trips(Signer()).cookie(waiting), waiting.state, clock.now) is None
    assert trips.back(cookie, waiting.state, clock.now + LASTS) is None
    assert trips.back(cookie, waiting.state, clock.now) == waiting
    assert trips.back(cookie, waiting.state, clock.now) is None
    assert isinstance(waiting, Waiting)
