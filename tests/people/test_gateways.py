"""Requests of one's own making: generic webhooks, SMS, phone, and apprise for the long tail."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import apprise
import pytest

from keepstep.contracts.notice import Mentions
from keepstep.contracts.taxonomy import Severity, Stage
from keepstep.ports.errors import Permanent, Transient
from tests.people.notices import INCIDENT, NOW, digest, ids, notice, sink_of
from tests.people.vendors.gateway import Gateway
from tests.people.vendors.server import running

ANSWER = {"field": "Code", "success": ["OK"], "retry": ["isv.BUSINESS_LIMIT_CONTROL"]}
BODY = '{"to": {{ to | tojson }}, "text": "{{ message }}"}'


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with running(Gateway()) as server:
        yield server


def hook(gateway: Gateway, **call: Any) -> dict[str, Any]:
    return {"kind": "webhook", "url": gateway.url, "call": call}


def sms(gateway: Gateway, **fields: Any) -> dict[str, Any]:
    call = {"body": BODY, "answer": ANSWER}
    return {"kind": "sms", "url": gateway.url, "to": ["+8613800000000"], "call": call} | fields


async def test_a_webhook_without_a_template_gets_the_notice_as_json(gateway: Gateway) -> None:
    gateway.forced.append((204, {}, ""))
    receipt = await sink_of(hook(gateway)).deliver(notice())
    assert receipt is not None
    assert receipt.code == "204"
    (asked,) = gateway.asked
    assert asked.headers["Idempotency-Key"] == notice().id
    assert asked.json["incident"] == INCIDENT
    assert asked.json["stage"] == "diagnosed"


async def test_method_headers_params_and_body_are_the_channels_own(gateway: Gateway) -> None:
    gateway.forced.append((200, {}, ""))
    made = hook(
        gateway,
        method="PUT",
        headers={"X-Team": "训练".encode().hex(), "Authorization": "Bearer abc"},
        params={"job": "{{ job }}", "level": "{{ severity }}"},
        body='{"msg": "{{ title }}: {{ text }}", "facts": {{ facts | tojson }}, "n": {{ sequence }}}',
    )
    await sink_of(made).deliver(notice(text='a "quoted"\nline \\ of 节点', job="a&b=c/d"))
    (asked,) = gateway.asked
    assert (asked.method, asked.query) == ("PUT", {"job": "a&b=c/d", "level": "warning"})
    assert asked.headers["Authorization"] == "Bearer abc"
    assert asked.json["msg"].endswith('a "quoted"\nline \\ of 节点')
    assert asked.json["facts"]["node"] == "node-17"
    assert asked.json["n"] == 2


async def test_a_get_has_no_body_and_a_form_is_escaped_as_one(gateway: Gateway) -> None:
    await sink_of(hook(gateway, method="GET", params={"text": "{{ text }}"})).deliver(notice(text="a&b=c d"))
    form = {"content_type": "application/x-www-form-urlencoded", "body": "text={{ text }}&job={{ job }}"}
    gateway.forced.append((200, {}, ""))
    await sink_of(hook(gateway, **form)).deliver(notice(text="a&b=c d"))
    asked, formed = gateway.asked
    assert (asked.body, asked.query["text"]) == (b"", "a&b=c d")
    assert formed.body == b"text=a%26b%3Dc%20d&job=llm-70b"


async def test_a_webhooks_signature_covers_time_and_body(gateway: Gateway) -> None:
    gateway.forced.append((200, {}, ""))
    await sink_of(hook(gateway) | {"secret": "s1gning-key"}).deliver(notice())
    (asked,) = gateway.asked
    stamp, _, made = asked.headers["X-Keepstep-Signature"].partition(",")
    assert stamp == f"t={int(NOW.timestamp())}"
    expected = hmac.digest(b"s1gning-key", stamp.removeprefix("t=").encode() + b"." + asked.body, hashlib.sha256).hex()
    assert made == f"v1={expected}"


REFUSED = [
    ("{{ ''.__class__.__mro__ }}", "call.body"),
    ("{{ title.format(facts) }}", "call is not for templates"),
    ("{% for a in facts %}{% for b in facts %}{% for c in facts %}x{% endfor %}{% endfor %}{% endfor %}", "loops"),
    ("{% set x = 'a' %}{{ x }}", "assign is not for templates"),
    ("{{ 'a' * 1000000 }}", "mul is not for templates"),
    ("{{ 9 ** 9 }}", "pow is not for templates"),
    ("{% include '/etc/passwd' %}", "include is not for templates"),
    ("{% macro f() %}{{ f() }}{% endmacro %}", "macro is not for templates"),
    ("{{ nothing }}", "nothing"),
    ("{{ title", "line 1"),
    ("{{ title | attr('x') }}", "attr"),
    ("{{ facts | join('--------------------') }}", "join"),
    ('{"text": {{ title }}}', "makes no JSON"),
    ("{{ title | round }}", "filter does not fit"),
]


@pytest.mark.parametrize(("body", "fault"), REFUSED)
async def test_a_template_that_does_too_much_is_refused_with_its_field(gateway: Gateway, body: str, fault: str) -> None:
    with pytest.raises(Permanent, match=r"ops: call\.body") as raised:
        await sink_of(hook(gateway, body=body)).deliver(notice())
    assert fault in str(raised.value)
    assert gateway.asked == []


@pytest.mark.parametrize(
    ("code", "kind"), [("OK", None), ("isv.BUSINESS_LIMIT_CONTROL", Transient), ("isv.AMOUNT_NOT_ENOUGH", Permanent)]
)
async def test_a_gateways_field_in_http_200_decides(gateway: Gateway, code: str, kind: type[Exception] | None) -> None:
    gateway.forced.append((200, {}, {"Code": code}))
    sink = sink_of(sms(gateway))
    if kind is None:
        receipt = await sink.deliver(notice())
        assert receipt is not None
        assert receipt.code == code
        return
    with pytest.raises((Transient, Permanent)) as raised:
        await sink.deliver(notice())
    assert type(raised.value) is kind
    assert raised.value.code == code


async def test_a_field_deep_in_the_answer_is_found_and_one_that_is_missing_is_no_success(gateway: Gateway) -> None:
    deep = {"body": BODY, "answer": {"field": "Results.0.Code", "success": ["OK"]}}
    await sink_of(sms(gateway, call=deep)).deliver(notice())
    gateway.forced.append((200, {}, {"Results": []}))
    with pytest.raises(Transient):
        await sink_of(sms(gateway, call=deep)).deliver(notice())


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_an_sms_is_one_short_text_with_the_start_of_the_incidents_id(gateway: Gateway, language: str) -> None:
    await sink_of(sms(gateway, language=language)).deliver(notice(text="很长的说明" * 40))
    (asked,) = gateway.taken
    assert asked.json["to"] == ["+8613800000000"]
    assert len(asked.json["text"]) == 70
    assert asked.json["text"].endswith(INCIDENT[:8])


async def test_an_sms_digest_has_every_id_in_as_many_texts_as_it_takes(gateway: Gateway) -> None:
    storm = digest(40)
    receipt = await sink_of(sms(gateway)).deliver(storm)
    told = " ".join(asked.json["text"] for asked in gateway.taken)
    assert [one for one in ids(storm) if one[:8] not in told] == []
    assert receipt is not None
    assert receipt.calls == len(gateway.taken) > 1
    keys = {asked.headers["Idempotency-Key"] for asked in gateway.taken}
    assert len(keys) == len(gateway.taken), "a gateway that knows a key already would drop what is new"


async def test_numbers_of_mentioned_people_are_told_beside_one_by_one_where_the_gateway_wants_it(
    gateway: Gateway,
) -> None:
    called = notice(mentions=Mentions(mobiles=("13900000000", "+8613800000000")))
    await sink_of(sms(gateway)).deliver(called)
    await sink_of(sms(gateway, each=True)).deliver(called)
    assert [asked.json["to"] for asked in gateway.taken] == [
        ["+8613800000000", "13900000000"],
        ["+8613800000000"],
        ["13900000000"],
    ]
    with pytest.raises(Permanent, match="nobody to tell"):
        await sink_of(sms(gateway, to=[])).deliver(notice())


async def test_a_phone_is_called_only_at_its_severity_and_reads_no_ids_out(gateway: Gateway) -> None:
    sink = sink_of(sms(gateway, kind="phone", longest=60))
    with pytest.raises(Permanent, match="critical and above"):
        await sink.deliver(notice())
    await sink.deliver(notice(severity=Severity.CRITICAL, stage=Stage.OVERDUE))
    await sink.deliver(notice(severity=Severity.CRITICAL, id="d", members=digest(30).members))
    assert len(gateway.taken) == 2
    assert "30" in gateway.taken[1].json["text"]
    assert INCIDENT[:8] not in gateway.taken[0].json["text"]


async def test_apprise_delivers_what_has_no_kind_of_its_own(gateway: Gateway) -> None:
    gateway.forced.append((200, {}, {"id": 1}))
    address = gateway.root.replace("http://", "gotify://") + "/t0ken-nobody-may-see"
    receipt = await sink_of({"kind": "apprise", "url": address, "language": "zh"}).deliver(notice())
    assert receipt is not None
    (asked,) = gateway.asked
    assert "显存不足" in json.dumps(asked.json, ensure_ascii=False)


async def test_a_digest_through_apprise_is_split_to_what_the_service_takes(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = type(apprise.Apprise.instantiate("gotify://127.0.0.1/x"))
    monkeypatch.setattr(plugin, "body_maxlen", 2_000)
    monkeypatch.setattr(plugin, "request_rate_per_sec", 0)
    gateway.forced.extend([(200, {}, {"id": 1})] * 20)
    storm = digest(60)
    address = gateway.root.replace("http://", "gotify://") + "/t0ken-nobody-may-see"
    receipt = await sink_of({"kind": "apprise", "url": address}).deliver(storm)
    bodies = [asked.json["message"] for asked in gateway.asked]
    assert [one for one in ids(storm) if one not in "".join(bodies)] == []
    assert max(map(len, bodies)) <= 2_000
    assert receipt is not None
    assert receipt.calls == len(bodies) > 1


@pytest.mark.parametrize(("status", "kind"), [(401, Permanent), (503, Transient)])
async def test_the_status_that_apprise_logs_decides(gateway: Gateway, status: int, kind: type[Exception]) -> None:
    gateway.forced.append((status, {}, ""))
    address = gateway.root.replace("http://", "gotify://") + "/t0ken-nobody-may-see"
    with pytest.raises((Transient, Permanent)) as raised:
        await sink_of({"kind": "apprise", "url": address}).deliver(notice())
    assert type(raised.value) is kind
    assert raised.value.code == str(status)


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("dingtalk://s@t", "write kind dingtalk"),
        ("feishu://t", "write kind feishu"),
        ("wecombot://k", "write kind wecom"),
        ("json://10.0.0.1/x", "write kind webhook"),
        ("nosuch://x", "apprise knows no such address"),
        ("gotify://127.0.0.1/t0ken-nobody-may-see", "add it to allow"),
    ],
)
async def test_what_apprise_gets_wrong_or_must_not_call_is_refused(address: str, fault: str) -> None:
    with pytest.raises(Permanent, match=fault) as raised:
        await sink_of({"kind": "apprise", "url": address}, allow=()).deliver(notice())
    assert "t0ken" not in str(raised.value)


async def test_an_sms_through_apprise_goes_to_its_numbers() -> None:
    made: dict[str, object] = {"kind": "sms", "apprise": "twilio://bad/{to}", "to": ["+8613800000000"]}
    with pytest.raises(Permanent, match="apprise knows no such address"):
        await sink_of(made).deliver(notice())
