"""The channels file: what is refused says the field and the remedy, and no secret shows."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from keepstep.adapters.channel_file import read as read_file
from keepstep.contracts.channels import Channels
from keepstep.contracts.notice import Mentions
from keepstep.contracts.taxonomy import ChannelKind, Language, Severity

HIDDEN = "t0ken-nobody-may-see"
URL = f"https://oapi.dingtalk.com/robot/send?access_token={HIDDEN}"
MAIL = {"name": "post", "kind": "mail", "host": "smtp.example", "sender": "keepstep@example.com"}
QUIET = {"start": "22:00", "end": "08:00", "zone": "Asia/Shanghai"}


def robot(**fields: Any) -> dict[str, Any]:
    return {"name": "ops", "kind": "dingtalk", "url": URL} | fields


def read(*channels: dict[str, Any], **rest: Any) -> Channels:
    return Channels.model_validate({"channels": channels} | rest)


def test_a_channel_needs_a_name_a_kind_and_an_address() -> None:
    channel = read(robot()).channel("ops")
    assert channel is not None
    assert (channel.kind, channel.language, channel.limit.per_minute) == (ChannelKind.DINGTALK, Language.EN, 20)
    assert read(robot()).channel("nobody") is None


@pytest.mark.parametrize("kind", ChannelKind)
def test_every_kind_can_be_written(kind: ChannelKind) -> None:
    own: dict[str, Any] = {"name": "ops", "kind": str(kind)}
    match kind:
        case ChannelKind.MAIL:
            own |= MAIL | {"name": "ops"}
        case ChannelKind.LOG:
            pass
        case _:
            own["url"] = URL
    channel = read(own).channel("ops")
    assert channel is not None
    assert channel.kind == kind
    assert HIDDEN not in repr(channel) + str(channel) + channel.model_dump_json()


def test_the_example_is_in_order_and_has_every_kind() -> None:
    example = read_file(Path(__file__).parents[2] / "examples" / "channels.yaml")
    assert {channel.kind for channel in example.channels} == set(ChannelKind)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (robot(url=None), "dingtalk", "url: is missing: write either url or url_file"),
    (robot(url_file="/run/url"), "dingtalk", "url: is given twice"),
    (robot(name="Ops Team"), "name", "pattern"),
    (robot(name="kubernetes"), "name", "name the channel anew"),
    (robot(kind="pager"), "channels.0", "dingtalk"),
    (robot(colour="red"), "colour", "not permitted"),
    (robot(limit={"per_minute": 21}), "dingtalk", "the vendor takes 20: write at most that"),
    (robot(kind="feishu", limit={"per_minute": 100}), "feishu", "limit.per_second: the vendor takes 5"),
    (robot() | {"secret": "SEC1", "secret_file": "/run/s"}, "dingtalk", "write either secret or secret_file"),
    (robot(quiet=[QUIET | {"zone": "Asia/Nowhere"}]), "zone", "write an IANA name, as Asia/Shanghai"),
    (robot(quiet=[QUIET | {"days": [0]}]), "days", "1 (Monday) to 7 (Sunday)"),
    (robot(quiet=[QUIET | {"start": "22:00Z"}]), "start", "write the wall time"),
    (MAIL | {"password": HIDDEN}, "mail", "user: is missing"),
    (MAIL | {"password": HIDDEN, "user": "u", "tls": "none"}, "mail", "write starttls or tls"),
    (MAIL | {"to": ["not an address"]}, "to", "pattern"),
    ({"name": "sms", "kind": "sms"}, "sms", "write one of url, url_file, apprise, apprise_file"),
    ({"name": "sms", "kind": "sms", "url": URL, "apprise": URL}, "sms", "write one of"),
    ({"name": "sms", "kind": "sms", "url": URL, "to": ["call me"]}, "to", "pattern"),
]


@pytest.mark.parametrize(("given", "field", "remedy"), REFUSED)
def test_what_is_refused_names_field_and_remedy_and_no_secret(given: dict[str, Any], field: str, remedy: str) -> None:
    with pytest.raises(ValidationError) as raised:
        read(given)
    (mistake,) = raised.value.errors(include_input=False)
    where = ".".join(map(str, mistake["loc"]))
    assert field in where
    assert remedy in mistake["msg"]
    assert HIDDEN not in str(raised.value) + repr(raised.value)


ALL_WRONG: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    (
        robot(url=None, limit={"per_minute": 21}) | {"secret": "SEC1", "secret_file": "/run/s"},
        ("limit.per_minute: the vendor takes 20", "url: is missing", "secret: is given twice"),
    ),
    (
        MAIL | {"password": HIDDEN, "password_file": "/run/p", "tls": "none"},
        ("password: is given twice", "user: is missing", "tls: none would send"),
    ),
    (
        {"name": "hook", "kind": "webhook", "secret": HIDDEN, "secret_file": "/run/s"},
        ("url: is missing", "secret: is given twice"),
    ),
    (
        {
            "name": "hook",
            "kind": "webhook",
            "url": URL,
            "call": {"headers": {"Host": "a", "a b": "b", "X-Own": "a\nb"}},
        },
        ("Host is the connection's own", "'a b' is no name", "X-Own has a line end"),
    ),
]


@pytest.mark.parametrize(("given", "remedies"), ALL_WRONG)
def test_all_that_is_wrong_with_one_channel_is_told_at_once(given: dict[str, Any], remedies: tuple[str, ...]) -> None:
    """Each try told one mistake more."""
    with pytest.raises(ValidationError) as raised:
        read(given)
    told = str(raised.value)
    assert [each for each in remedies if each not in told] == []
    assert HIDDEN not in told


@pytest.mark.parametrize(
    ("rest", "remedy"),
    [
        ({"allow": ["10.0.0.0/33"]}, "is no network, address or host name"),
        ({"allow": ["http://hooks"]}, "is no network, address or host name"),
        ({"groups": {"oncall": ["nobody"]}}, "add them there"),
        ({"groups": {"all": []}}, "name the group anew"),
        ({"people": {"li": {"mobile": "one two"}}}, "pattern"),
        ({"console": "console.example"}, "pattern"),
        ({"proxy": f"proxy.example:3128/{HIDDEN}"}, "write scheme, host and port"),
    ],
)
def test_the_rest_of_the_file_is_held_to_its_rules(rest: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValidationError, match=remedy) as raised:
        read(**rest)
    assert HIDDEN not in str(raised.value)


def test_two_channels_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="ops is there twice"):
        read(robot(), robot())


PEOPLE = {
    "li": {"dingtalk": "u1", "feishu": "ou_1", "wecom": "lisi", "mobile": "+8613800000000", "email": "li@example.com"},
    "wang": {"mobile": "13900000000", "slack": "U77"},
}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("dingtalk", Mentions(ids=("u1",), mobiles=("13900000000",), missing=("ghost",))),
        ("feishu", Mentions(ids=("ou_1",), missing=("wang", "ghost"))),
        ("wecom", Mentions(ids=("lisi",), mobiles=("13900000000",), missing=("ghost",))),
        ("slack", Mentions(ids=("U77",), missing=("li", "ghost"))),
        ("sms", Mentions(mobiles=("+8613800000000", "13900000000"), missing=("ghost",))),
    ],
)
def test_people_are_called_as_the_vendor_knows_them(kind: str, expected: Mentions) -> None:
    channels = read({"name": "ops", "kind": kind, "url": URL}, people=PEOPLE, groups={"oncall": ["li", "wang"]})
    assert channels.mentions("ops", ["@oncall", "li", "ghost"]) == expected


def test_everyone_is_called_beside_people_and_mail_goes_to_addresses() -> None:
    channels = read(MAIL, people=PEOPLE)
    assert channels.mentions("post", ["all", "li"]) == Mentions(emails=("li@example.com",), everyone=True)
    assert channels.mentions("elsewhere", ["li"]) == Mentions()


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("when", "kept"),
    [
        ("2026-11-30T21:59:59+08:00", False),
        ("2026-11-30T22:00:00+08:00", True),
        ("2026-12-01T07:59:59+08:00", True),
        ("2026-12-01T08:00:00+08:00", False),
        ("2026-12-05T23:00:00+08:00", False),
        ("2026-12-05T03:00:00+08:00", True),
    ],
)
def test_quiet_hours_are_those_of_their_place_and_days(when: str, kept: bool) -> None:
    channel = read(robot(quiet=[QUIET | {"days": [1, 2, 3, 4, 5]}])).channel("ops")
    assert channel is not None
    (quiet,) = channel.quiet
    assert quiet.covers(at(when)) is kept
    assert quiet.keeps(Severity.WARNING, at(when)) is kept
    assert not quiet.keeps(Severity.CRITICAL, at(when))


def test_sms_and_phone_are_sparing_by_default() -> None:
    sms, phone = (read({"name": "p", "kind": kind, "url": URL}).channel("p") for kind in ("sms", "phone"))
    assert sms is not None
    assert phone is not None
    assert sms.once
    assert phone.once
    assert [phone.takes(severity) for severity in Severity] == [False, False, True]


@pytest.mark.parametrize("kind", ["webhook", "sms"])
def test_a_password_in_the_body_of_a_request_is_a_secret_as_one_in_a_header(kind: str) -> None:
    call = {"body": f"password={HIDDEN}", "headers": {"X-Key": HIDDEN}, "params": {"key": HIDDEN}}
    channel = read({"name": "ops", "kind": kind, "url": URL, "call": call}).channel("ops")
    assert channel is not None
    assert HIDDEN not in repr(channel) + channel.model_dump_json()
