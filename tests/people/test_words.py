"""Words: every stage in both languages, facts and links, times of the place, and nothing that is no text."""

from datetime import UTC, datetime, timedelta

import pytest

from keepstep.adapters.channel_words import worded
from keepstep.contracts.events import NodeIsolated
from keepstep.contracts.ids import EventId, NodeName, Pool
from keepstep.contracts.message import Message, messages
from keepstep.contracts.notice import Link, Member
from keepstep.contracts.taxonomy import Language, Severity, Stage
from keepstep.core.words import facts as known
from keepstep.notifier.core import words as told_of
from tests.contracts.examples import example
from tests.people.notices import INCIDENT, NOW, digest, notice

ZH = {
    Stage.OPENED: "任务 llm-70b 出现故障",
    Stage.DIAGNOSED: "任务 llm-70b 故障定位：显存不足",
    Stage.ISOLATED: "节点 node-17 已隔离",
    Stage.DECLINED: "节点 node-17 未隔离或未解除隔离",
    Stage.HELD: "节点 node-17 等待人工确认隔离",
    Stage.RECOVERING: "任务 llm-70b 开始恢复：Pod 级重调度",
    Stage.RETRYING: "任务 llm-70b 本级恢复未成功：Pod 级重调度",
    Stage.RESUMED: "任务 llm-70b 已恢复训练",
    Stage.FAILED: "任务 llm-70b 失败：显存不足",
    Stage.CLOSED: "任务 llm-70b 故障单已关闭：已恢复训练",
    Stage.OVERDUE: "任务 llm-70b 故障超时仍未恢复",
    Stage.ESCALATED: "任务 llm-70b 故障单尚无人认领",
    Stage.ACKNOWLEDGED: "任务 llm-70b 故障单已认领",
    Stage.RELEASED: "节点 node-17 已解除隔离",
    Stage.DRAINED: "节点 node-17 腾空结束",
    Stage.RUNNING: "任务 llm-70b 开始运行",
    Stage.WAITING: "任务 llm-70b 等待调度",
    Stage.SUSPENDED: "任务 llm-70b 已被挂起",
    Stage.SUCCEEDED: "任务 llm-70b 成功结束",
    Stage.STOPPED: "任务 llm-70b 正在停止",
    Stage.PAUSED: "任务 llm-70b 已暂停自动处理",
    Stage.UNPAUSED: "任务 llm-70b 已恢复自动处理",
    Stage.BLINDED: "任务 llm-70b 失联过多，暂不判定",
    Stage.SIGHTED: "任务 llm-70b 恢复正常判定",
    Stage.BURIED: "任务 llm-70b 有消息进入死信",
    Stage.NOTE: "Told as it is",
}
FACTS = (("category", "oom_device"), ("level", "pod"), ("outcome", "resumed"), ("lost steps", "12"))


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_has_its_words_in_chinese(stage: Stage) -> None:
    words = worded(notice(stage=stage, title="Told as it is", subject="node node-17", facts=FACTS), Language.ZH)
    assert words.title.replace(" ", "") == ZH[stage].replace(" ", "")
    assert ("损失步数", "12") in words.facts
    assert words.severity == "警告"


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_has_its_words_in_english(stage: Stage) -> None:
    words = worded(notice(stage=stage, title="Told as it is"), Language.EN)
    assert words.title == "Told as it is"
    assert bool(words.lead) is (stage not in {Stage.RUNNING, Stage.SUCCEEDED, Stage.NOTE})


@pytest.mark.parametrize("stage", [Stage.FAILED, Stage.OVERDUE, Stage.ESCALATED])
@pytest.mark.parametrize("language", Language)
def test_what_needs_a_person_says_where_the_whole_story_is(stage: Stage, language: Language) -> None:
    assert f"keepstep incident show {INCIDENT[:12]}" in worded(notice(stage=stage), language).lead
    assert "incident show" not in worded(notice(stage=stage, incident=None), language).lead


def test_what_is_of_a_pool_names_it() -> None:
    words = worded(notice(job="", stage=Stage.BURIED, subject="pool blue"), Language.ZH)
    assert words.title == "资源池 blue 有消息进入死信"


@pytest.mark.parametrize("name", sorted(messages()))
def test_every_fact_that_people_are_told_has_a_chinese_name(name: str) -> None:
    message = example(messages()[name])
    assert isinstance(message, Message)
    told = told_of(message)
    names = [fact for fact, _ in told.facts] if told is not None else []
    assert [fact for fact in (*names, "after", "incident") if fact not in known.FACTS] == []


def test_a_sentence_and_the_values_of_facts_are_told_in_chinese_and_what_people_wrote_is_not() -> None:
    said = "node_hardware: rank 3 was not heard for 20.0 s; 1 of 4 nodes out\nsee the rack"
    facts = (("levels", "in-place > pod"), ("resume from", "step 20"), ("rule", "xid-79"), ("still there", "ns/pod"))
    words = worded(notice(text=said, facts=facts), Language.ZH)
    assert words.text == "节点硬件故障：rank 3 已 20.0 秒没有心跳；已隔离 1/4 个节点\nsee the rack"
    assert words.facts == (
        ("恢复级别", "原地重启 → Pod 级重调度"), ("恢复起点", "第 20 步"), ("规则", "xid-79"), ("仍在节点上", "ns/pod"),
    )  # fmt: skip
    assert worded(notice(text=said, facts=facts), Language.EN).facts == facts


def test_a_node_that_no_job_is_on_has_its_name() -> None:
    words = worded(notice(job="", stage=Stage.ISOLATED, subject="node-17"), Language.ZH)
    assert words.title == "node-17 已隔离"


def test_links_are_http_and_named_in_the_language() -> None:
    links = (
        Link(label="job", url="https://c.example/jobs/a b"),
        Link(label="job", url="https://c.example/jobs/(x)[y]?a=1&b=节"),
        Link(label="evidence", url="javascript:alert(1)"),
        Link(label="其他", url="http://c.example"),
    )
    words = worded(notice(links=links), Language.ZH)
    assert words.links == (
        ("任务", "https://c.example/jobs/%28x%29%5By%5D?a=1&b=%E8%8A%82"),
        ("其他", "http://c.example"),
    )


@pytest.mark.parametrize(("zone", "shown"), [("UTC", "05:59:58 UTC"), ("Asia/Shanghai", "13:59:58 +0800")])
def test_times_are_those_of_the_place(zone: str, shown: str) -> None:
    assert worded(notice(), Language.EN, zone).at.endswith(shown)


ISOLATED = NodeIsolated(
    id=EventId("isolated"), time=NOW, pool=Pool("p"), node=NodeName("n1"), reason="Xid 79", because="Xid 79",
    until=datetime(2026, 1, 2, 18, 4, 5, tzinfo=UTC), release_after=timedelta(seconds=300),
)  # fmt: skip


@pytest.mark.parametrize(
    ("language", "zone", "ends"),
    [
        (
            Language.ZH,
            "Asia/Shanghai",
            "至 2026 年 1 月 3 日 02:04:05（UTC+8），此后连续就绪 300 秒即解除；可由人工提前解除",
        ),
        (Language.ZH, "UTC", "至 2026 年 1 月 2 日 18:04:05（UTC），此后连续就绪 300 秒即解除；可由人工提前解除"),
        (
            Language.EN,
            "America/St_Johns",
            "until 2026-01-02 14:34:05 -0330, then released once it was ready for 300 s; sooner by a person",
        ),
    ],
)
def test_when_an_isolation_ends_is_told_whole_in_the_zone_of_the_channel(
    language: Language, zone: str, ends: str
) -> None:
    told = told_of(ISOLATED)
    assert told is not None
    words = worded(notice(stage=Stage.ISOLATED, facts=told.facts), language, zone)
    assert dict(words.facts)["隔离期限" if language is Language.ZH else "isolated"] == ends


def test_the_time_of_a_chinese_message_says_its_zone_as_people_do() -> None:
    assert worded(notice(), Language.ZH, "Asia/Shanghai").at == "2026/11/30 13:59:58（UTC+8）"
    since = (("open since", "2026-11-30T05:59:58+00:00"),)
    assert worded(notice(facts=since), Language.ZH, "Asia/Shanghai").facts == (
        ("开始于", "2026 年 11 月 30 日 13:59:58（UTC+8）"),
    )
    assert worded(notice(facts=since), Language.EN, "Asia/Shanghai").facts == (
        ("open since", "2026-11-30 13:59:58 +0800"),
    )


def test_a_digest_of_several_incidents_has_no_number_in_a_thread() -> None:
    assert "第 2 条" in worded(notice(), Language.ZH).footer
    assert "条" not in worded(digest(3), Language.ZH).footer


def test_what_is_no_text_is_left_out() -> None:
    dirty = "a\x00b\x1b[31m\ud800\u202ec\r\nd"
    words = worded(notice(title=dirty, text=dirty, facts=(("last line", dirty),)), Language.EN)
    assert words.title == "ab[31m?c d"
    assert words.text == "ab[31m?c\nd"
    assert words.facts == (("last line", "ab[31m?c d"),)


def test_a_digest_says_how_many_it_stands_for() -> None:
    assert worded(digest(3), Language.ZH).title == "3 条通知合并"
    assert [one.title for one in worded(digest(2), Language.ZH).members] == [f"任务 llm-{n} 出现故障" for n in (0, 1)]
    assert worded(digest(3), Language.EN).title == "3 messages"


def test_an_incident_that_is_over_looks_like_good_news_alone_and_in_a_digest() -> None:
    over = worded(notice(severity=Severity.INFO, stage=Stage.CLOSED, facts=(("outcome", "resumed"),)), Language.EN)
    assert over.sign == "🟢"
    lines = (
        Member(id="a", title="Job a steps again", severity=Severity.CRITICAL, stage=Stage.RESUMED),
        Member(id="b", title="Fault in job b", severity=Severity.WARNING, stage=Stage.OPENED),
        Member(id="c", title="Incident of job c closed: failed", severity=Severity.CRITICAL, stage=Stage.FAILED),
    )
    assert [one.sign for one in worded(notice(members=lines), Language.EN).members] == ["🟢", "🟠", "🔴"]
