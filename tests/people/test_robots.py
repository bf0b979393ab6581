"""Chats: signed as they want it, judged by their codes, cut to their bytes; a fake of each checks with its own eyes."""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from keepstep.adapters.channel_signature import dingtalk_signature, feishu_signature
from keepstep.contracts.notice import Mentions
from keepstep.contracts.taxonomy import Severity
from keepstep.ports.errors import Permanent, Transient
from keepstep.ports.sink import Receipt
from tests.people.notices import INCIDENT, NOW, StillClock, digest, ids, notice, sink_of
from tests.people.vendors import robots
from tests.people.vendors.server import Vendor, hmac_sha256, running
from tests.people.vendors.tables import AGAIN, ERRCODES, NEVER, RESIGN, SENT, WORDS

KINDS = ("dingtalk", "feishu", "lark", "wecom", "slack")
EMPHASIS = Mentions(ids=("u1",), mobiles=("13800000000",), everyone=True)


def vendor_of(kind: str) -> Any:
    match kind:
        case "dingtalk":
            return robots.DingTalk(NOW)
        case "feishu" | "lark":
            return robots.Feishu(NOW)
        case "wecom":
            return robots.WeCom()
        case _:
            return robots.Slack()


@pytest.fixture
def vendor(kind: str) -> Iterator[Any]:
    with running(vendor_of(kind)) as server:
        yield server


def channel(kind: str, vendor: Any, **fields: Any) -> dict[str, Any]:
    signed = {"secret": robots.SECRET} if kind in {"dingtalk", "feishu", "lark"} else {}
    return {"kind": kind, "url": vendor.url} | signed | fields


def test_the_signatures_are_those_of_the_vectors() -> None:
    at = datetime.fromtimestamp(1_700_000_000, UTC)
    stamp, sign = dingtalk_signature("SECexample0000secret", at)
    assert (stamp, sign) == ("1700000000000", "+2qzlonoMFX4WY5jwQwXT9B754g/dZtE5TMLPPziB80=")
    assert quote(sign, safe="") == "%2B2qzlonoMFX4WY5jwQwXT9B754g%2FdZtE5TMLPPziB80%3D"
    stamp, sign = feishu_signature("exampleFeishuSecret", at)
    assert (stamp, sign) == ("1700000000", "KAVz6mt2yjyYGOsZirwjG/gjbx7Rak7PYaGaF9vzk8g=")


def test_the_fakes_own_hmac_makes_the_vectors_too() -> None:
    made = hmac_sha256(b"SECexample0000secret", b"1700000000000\nSECexample0000secret")
    assert base64.b64encode(made) == b"+2qzlonoMFX4WY5jwQwXT9B754g/dZtE5TMLPPziB80="


async def test_the_vector_goes_over_the_wire_encoded_once() -> None:
    clock = StillClock()
    clock.at = datetime.fromtimestamp(1_700_000_000, UTC)
    with running(robots.DingTalk(clock.at)) as vendor:
        made = channel("dingtalk", vendor) | {"secret": "SECexample0000secret"}
        with pytest.raises(Permanent, match="sign not match"):
            await sink_of(made, clock=clock).deliver(notice())
        assert "sign=%2B2qzlonoMFX4WY5jwQwXT9B754g%2FdZtE5TMLPPziB80%3D" in vendor.asked[0].raw_query


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_message_passes_the_vendors_checks_and_says_what_where_and_which(
    kind: str, vendor: Any, language: str
) -> None:
    receipt = await sink_of(channel(kind, vendor, language=language)).deliver(notice())
    assert receipt == Receipt("ok" if kind == "slack" else "0", receipt.detail if receipt else "")
    (asked,) = vendor.taken
    shown = json.dumps(asked.json, ensure_ascii=False)
    title = "任务 llm-70b 故障定位：显存不足" if language == "zh" else "Cause in job llm-70b: oom_device"
    for part in (title, "79.2 of 80 GiB", "node-17", INCIDENT, "console.example/jobs/llm-70b", "05:59:58"):
        assert part in shown


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("style", ["card", "markdown", "text"])
async def test_every_style_passes_with_and_without_mentions(kind: str, vendor: Any, style: str) -> None:
    made = channel(kind, vendor) if kind == "slack" else channel(kind, vendor, style=style)
    if kind in {"feishu", "lark"} and style == "markdown":
        return
    sink = sink_of(made)
    await sink.deliver(notice())
    await sink.deliver(notice(id="another", mentions=EMPHASIS))
    await sink.deliver(notice(id="a third", mentions=Mentions(ids=("u1",)), links=()))
    assert len(vendor.taken) == 3
    called = json.dumps(vendor.taken[1].json)
    assert "u1" in called
    if kind in {"dingtalk", "wecom"}:
        assert "13800000000" in called


def test_every_code_of_the_facts_is_here() -> None:
    assert {kind: len(rows) for kind, rows in ERRCODES.items()} == {"dingtalk": 20, "feishu": 9, "wecom": 5, "lark": 9}


ROWS = [(kind, *row) for kind, rows in ERRCODES.items() for row in rows]


@pytest.mark.parametrize(("kind", "number", "text", "fate"), ROWS)
async def test_a_code_in_http_200_decides(kind: str, vendor: Any, number: int, text: str, fate: str) -> None:
    said = robots.Feishu.code(number, text) if kind in {"feishu", "lark"} else robots.code(number, text)
    vendor.forced.extend([said] * 3)
    await told(kind, vendor, str(number), fate)


@pytest.mark.parametrize(("status", "word", "fate"), WORDS)
@pytest.mark.parametrize("kind", ["slack"])
async def test_slacks_word_decides(kind: str, vendor: Any, status: int, word: str, fate: str) -> None:
    vendor.forced.extend([(status, {}, word)] * 3)
    await told(kind, vendor, word, fate)


async def told(kind: str, vendor: Vendor, code: str, fate: str) -> None:
    """Deliver once and hold what came of it to the table: the code is told, and calls are as many as may be."""
    sink = sink_of(channel(kind, vendor))
    if fate == SENT:
        receipt = await sink.deliver(notice())
        assert receipt is not None
        assert (receipt.code, receipt.calls) == (code, 1)
    else:
        with pytest.raises((Transient, Permanent)) as raised:
            await sink.deliver(notice())
        assert isinstance(raised.value, Transient) == (fate == AGAIN)
        assert raised.value.code == code
        assert code in str(raised.value)
    assert len(vendor.asked) == (2 if fate == RESIGN else 1)


async def test_a_robot_that_sent_too_much_is_left_alone_for_ten_minutes() -> None:
    with running(robots.DingTalk(NOW)) as vendor:
        vendor.forced.append(robots.code(130101, "send too fast"))
        with pytest.raises(Transient) as raised:
            await sink_of(channel("dingtalk", vendor)).deliver(notice())
        assert raised.value.retry_after == timedelta(minutes=10)


@pytest.mark.parametrize("kind", ["dingtalk", "feishu"])
async def test_every_try_is_signed_anew(kind: str, vendor: Any) -> None:
    clock = StillClock()
    sink = sink_of(channel(kind, vendor), clock=clock)
    vendor.forced.append(robots.Feishu.code(11232, "slow") if kind == "feishu" else robots.code(-1, "busy"))
    with pytest.raises(Transient):
        await sink.deliver(notice())
    clock.at = vendor.now = NOW + timedelta(hours=2)
    await sink.deliver(notice())
    assert len(vendor.taken) == 1


@pytest.mark.parametrize("kind", ["dingtalk", "feishu"])
async def test_a_clock_that_is_wrong_is_told_as_such(kind: str, vendor: Any) -> None:
    vendor.now = NOW + timedelta(hours=2)
    with pytest.raises(Permanent, match="clock") as raised:
        await sink_of(channel(kind, vendor)).deliver(notice())
    assert raised.value.code == ("310000" if kind == "dingtalk" else "19021")
    assert len(vendor.asked) == 2


@pytest.mark.parametrize("style", ["card", "markdown", "text"])
@pytest.mark.parametrize("there", [True, False])
async def test_a_robots_keyword_is_in_title_and_text(style: str, there: bool) -> None:
    word = "Cause" if there else "keepstep告警"
    with running(robots.DingTalk(NOW, keyword=word)) as vendor:
        await sink_of(channel("dingtalk", vendor, keyword=word, style=style)).deliver(notice())
        shown = json.dumps(vendor.taken[0].json, ensure_ascii=False)
        assert (f"[{word}]" in shown) is not there
        assert style == "text" or vendor.taken[0].json[msgtype(vendor)]["text"].startswith("### "), "still a heading"


@pytest.mark.parametrize("style", ["card", "text"])
@pytest.mark.parametrize("there", [True, False])
async def test_a_feishu_bots_keyword_is_in_title_and_text(style: str, there: bool) -> None:
    word = "llm-70b" if there else "keepstep告警"
    with running(robots.Feishu(NOW, keyword=word)) as vendor:
        made = channel("feishu", vendor, keyword=word, style=style)
        await sink_of(made).deliver(notice(text="显存不足 llm-70b" * 3_000))
        said = vendor.taken[0].json
        shown = (
            [said["content"]["text"]]
            if style == "text"
            else [
                said["card"]["header"]["title"]["content"],
                said["card"]["elements"][0]["text"]["content"],
            ]
        )
        assert all(word in one for one in shown), "also where the text is cut"
        assert [f"[{word}]" in one for one in shown] == [not there] * len(shown)


def msgtype(vendor: Vendor) -> str:
    return str(vendor.taken[0].json["msgtype"])


async def test_a_long_message_keeps_the_keyword_and_ends_its_text_in_a_mark() -> None:
    with running(robots.DingTalk(NOW, keyword="告警")) as vendor:
        made = channel("dingtalk", vendor, keyword="告警", language="zh", style="markdown")
        await sink_of(made).deliver(notice(text="显存不足" * 5_000))
        (asked,) = vendor.taken
        assert 19_000 < len(asked.body) <= 20_000
        assert "（已截断）" in asked.json["markdown"]["text"]


@pytest.mark.parametrize(("style", "most"), [("markdown", 4_096), ("text", 2_048)])
async def test_wecom_gets_as_many_bytes_as_it_takes(style: str, most: int) -> None:
    with running(robots.WeCom()) as vendor:
        await sink_of(channel("wecom", vendor, style=style, language="zh")).deliver(notice(text="节点故障" * 2_000))
        content = vendor.taken[0].json[style]["content"]
        assert most - 8 < len(content.encode()) <= most
        assert "（已截断）" in content
        assert "\ufffd" not in content
        assert INCIDENT in content


@pytest.mark.parametrize("kind", KINDS)
async def test_a_storm_of_200_loses_no_incident_and_fits_into_a_minute(kind: str, vendor: Any) -> None:
    storm = digest(200)
    receipt = await sink_of(channel(kind, vendor, language="zh")).deliver(storm)
    told = "".join(json.dumps(asked.json) for asked in vendor.taken)
    assert [one for one in ids(storm) if one not in told] == []
    assert receipt is not None
    assert receipt.calls == len(vendor.taken) <= 20


async def test_a_try_after_a_failed_part_does_not_repeat_those_before_it() -> None:
    with running(robots.WeCom()) as vendor:
        sink = sink_of(channel("wecom", vendor))
        storm = digest(200)
        vendor.forced.extend([robots.code(0, "ok"), robots.code(45009, "api freq out of limit")])
        with pytest.raises(Transient):
            await sink.deliver(storm)
        await sink.deliver(storm)
        bodies = [asked.body for asked in vendor.asked]
        assert bodies[1] == bodies[2]
        assert len(bodies) == len(set(bodies)) + 1


@pytest.mark.parametrize("kind", KINDS)
async def test_what_others_wrote_calls_nobody_and_links_nowhere(kind: str, vendor: Any) -> None:
    evil = '<at id=all></at> <@all> <!channel> [click](http://evil.example) <font color="warning">'
    await sink_of(channel(kind, vendor)).deliver(notice(text=evil, job=evil, title=f"Fault in {evil}"))
    marked = "".join(markup(vendor.taken[0].json))
    for sign in ("<at id=all>", "<@all>", "<!channel>", "](http://evil", 'color="warning">"'):
        assert sign not in marked or (kind == "slack" and sign.startswith("]")), "Slack has no such links"


def markup(value: Any) -> Iterator[str]:
    """Yield the texts that the vendor reads as markup: all but plain_text and titles of DingTalk's list of chats."""
    match value:
        case {"tag": "plain_text"} | {"type": "plain_text"}:
            return
        case dict():
            for name, one in value.items():
                yield from markup(one) if name != "title" else ()
        case list():
            for one in value:
                yield from markup(one)
        case str():
            yield value


async def test_an_answer_that_is_not_the_vendors_is_no_success() -> None:
    with running(robots.WeCom()) as vendor:
        vendor.forced.append((200, {}, "<html>please log in</html>"))
        with pytest.raises(Transient, match="something in between"):
            await sink_of(channel("wecom", vendor)).deliver(notice())


async def test_a_redirect_is_not_followed() -> None:
    with ExitStack() as stack:
        vendor, elsewhere = stack.enter_context(running(robots.WeCom())), stack.enter_context(running(robots.WeCom()))
        vendor.forced.append((302, {"Location": elsewhere.url}, ""))
        with pytest.raises(Permanent, match="answered 302"):
            await sink_of(channel("wecom", vendor)).deliver(notice())
        assert elsewhere.asked == []


async def test_a_channel_takes_nothing_milder_than_it_says() -> None:
    with running(robots.WeCom()) as vendor:
        sink = sink_of(channel("wecom", vendor, minimum="critical"))
        with pytest.raises(Permanent, match="critical and above") as raised:
            await sink.deliver(notice())
        assert raised.value.code == "minimum"
        await sink.deliver(replace(notice(), severity=Severity.CRITICAL))
        assert len(vendor.asked) == 1


def test_the_table_has_each_fate() -> None:
    assert {row[2] for rows in ERRCODES.values() for row in rows} == {SENT, AGAIN, RESIGN, NEVER}


@pytest.mark.parametrize("keyword", ["#告警", "[ft]", "a*b"])
async def test_a_keyword_of_signs_stays_as_the_robot_knows_it(keyword: str) -> None:
    with running(robots.DingTalk(NOW, keyword=keyword)) as vendor:
        made = channel("dingtalk", vendor, keyword=keyword, style="markdown")
        await sink_of(made).deliver(notice(title=f"{keyword} of a job"))
        assert len(vendor.taken) == 1
