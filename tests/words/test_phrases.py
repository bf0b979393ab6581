"""Every phrase is had back from its English, whole, and reads as Chinese."""

import re
import time

import pytest

from keepstep.adapters.channel_replies import TABLES as REPLIES
from keepstep.contracts.events import LossEvidence
from keepstep.contracts.taxonomy import Language, LossCause
from keepstep.core.words.book import TABLES
from keepstep.core.words.holes import HOLES
from keepstep.core.words.phrase import HOLE, SAID, Phrase
from keepstep.core.words.reading import LONGEST, PHRASES, placed, reading, told
from keepstep.diagnosis.finding import _gone
from tests.words.samples import WITHIN, sample, written

HAN = r"[\u4e00-\u9fff]"


def misread(phrase: Phrase) -> str:
    """Return how a phrase, filled, is read otherwise than it was written, or ""."""
    said = {
        name: told(WITHIN, Language.ZH) if kind == SAID else HOLES[kind].read(sample(kind))
        for name, kind in phrase.holes.items()
    }
    read = reading(written(phrase))
    return "" if read == (phrase.filled(said), 0) else f"{phrase.english}: {read.text}"


def test_every_phrase_is_read_as_it_is_written() -> None:
    assert list(filter(None, map(misread, PHRASES))) == []


def slips(phrase: Phrase) -> list[str]:
    """Return what is wrong with the Chinese of a phrase."""
    own = HOLE.sub("", phrase.chinese)
    spoken = re.search(HAN, own) or phrase.bare or not re.search(r"[a-z]{3} [a-z]{3}", own)
    wrong = {
        "other holes": set(HOLE.findall(phrase.chinese)) != {(name, "") for name in phrase.holes},
        "no word of Chinese": not spoken,
        "half-width points": bool(re.search(r"[,;:!?](?= |$)", own)),
        "no space between scripts": bool(re.search(rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}", own)),
    }
    return [f"{what}: {phrase.chinese}" for what, is_so in wrong.items() if is_so]


def test_every_phrase_says_the_same_in_chinese_pointed_as_chinese_is() -> None:
    assert [slip for phrase in PHRASES for slip in slips(phrase)] == []


def test_no_sentence_has_two_lines_in_the_tables() -> None:
    assert len({phrase.english for phrase in PHRASES}) == sum(map(len, TABLES)) == len(PHRASES)


def test_a_phrase_has_more_of_its_own_than_a_space() -> None:
    assert [phrase.english for phrase in PHRASES if not HOLE.sub("", phrase.english).strip()] == ["{n:count}"]


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("n1 is cordoned by alice: left as it is", "n1 已被 alice 封锁（cordon），保持原样"),
        (
            "level pod, generation 3: hang starts at in-place; 4 hang, network and time-out recoveries used in 3600 s, "
            "3 for each level; not in-place: worker-1 is gone (node_lost)",
            "采用“Pod 级重调度”，第 3 代：“训练卡住”从“原地重启”开始；3600 秒内已用 4 次卡住、网络与超时类恢复，"
            "每级 3 次；不采用“原地重启”：worker-1 已丢失（节点失联）",
        ),
        (
            "oom_host, blamed on rank 3, node n2: rank 3 said: Killed; 2 of 3; it came before or outweighs "
            "1 other fault",
            "主机内存不足，故障点 rank 3、节点 n2：rank 3 输出：Killed; 2 of 3；它早于或重于 1 个其他故障",
        ),
    ],
)
def test_a_sentence_of_sentences_is_told_in_chinese(english: str, chinese: str) -> None:
    assert told(english, Language.ZH) == chinese
    assert told(english, Language.EN) == english


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "CCAE reports 020001001 of device 0 of node n1: MindCluster level SeparateNPU, public: chip is hot",
            "CCAE 上报节点 n1 的设备 0 出现 020001001：MindCluster 级别 SeparateNPU，公共故障：chip is hot",
        ),
        (
            "device_hardware, blamed on device 0, node n1: device 0 of node n1 reported 020001001 MindCluster level "
            "SeparateNPU, public",
            "加速卡硬件故障，故障点设备 0、节点 n1：节点 n1 的设备 0 上报 020001001 MindCluster 级别 SeparateNPU，"
            "公共故障",
        ),
        (
            "fault of device 0: device 0 020001001 of node n1 reported, where no job runs",
            "设备 0 故障：节点 n1 上报设备 0 的 020001001，其上没有任务运行",
        ),
        (
            "fault of node n1: node n1 reported mindcluster switch 0x08 chip 1 while a task of the job runs there",
            "节点 n1 故障：节点 n1 上报 mindcluster switch 0x08 chip 1，其上正运行该任务的 1 个实例",
        ),
        (
            "CCAE reports 110001010 of node n1, no fault: MindCluster level SubHealthFault, public",
            "CCAE 上报节点 n1 出现 110001010（不影响训练）：MindCluster 级别 SubHealthFault，公共故障",
        ),
    ],
)
def test_what_other_systems_report_is_told_in_chinese_however_deep_it_stands(english: str, chinese: str) -> None:
    assert told(english, Language.ZH) == chinese


@pytest.mark.parametrize(
    "words", ["fan is loud; please look", "RuntimeError: CUDA error", "", "机房断电", "all tasks are gone" * LONGEST]
)
def test_what_people_and_programs_wrote_stays_as_it_is(words: str) -> None:
    assert told(words, Language.ZH) == words


def test_who_and_where_is_told_and_a_name_is_not() -> None:
    assert placed("rank 3, node n2", Language.ZH) == "rank 3、节点 n2"
    assert placed("device 5 of node n2", Language.ZH) == "节点 n2 的设备 5"
    assert placed("rank 3, node n2", Language.EN) == "rank 3, node n2"
    assert placed("the third rack", Language.ZH) == "the third rack"


def test_what_stands_in_an_unknown_sentence_is_left_whole() -> None:
    assert told("drain: fan is loud: bad (really); call me", Language.ZH) == "腾空：fan is loud: bad (really); call me"


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "needs 2 nodes without a group, 1 of 3 free: n2 is not ready; n3 is cordoned by alice (fan is loud)",
            "需要 2 个节点（未分组），3 个中空闲 1 个：n2 未就绪；n3 已被 alice 封锁（fan is loud）",
        ),
        (
            "needs 1 node in group g, 0 of 1 free: n2 runs w-0 of job j1, w-1 of job j2",
            "需要节点组 g 中的 1 个节点，1 个中空闲 0 个：n2 正在运行任务 j1 的实例 w-0、任务 j2 的实例 w-1",
        ),
        (
            "channel ops: ops answered 310000 (sign not match): set secret to the one that DingTalk shows, beginning"
            " with SEC (code 310000)",
            "渠道 ops：ops 返回 310000（sign not match）：请把 secret 设为钉钉显示的以 SEC 开头的密钥（返回码 310000）",
        ),
        ("keepstep reaches ops: this is a test", "渠道 ops 可以收到 keepstep 的通知：这是测试"),
        (
            "waiting: needs 2 nodes without a group, 1 of 3 free: n2 is cordoned by keepstep (drain: hot (by root))",
            "等待：需要 2 个节点（未分组），3 个中空闲 1 个：n2 已被 keepstep 封锁（腾空：hot（来自 root））",
        ),
    ],
)
def test_why_there_is_no_place_or_no_delivery_is_told_whole(english: str, chinese: str) -> None:
    assert told(english, Language.ZH) == chinese


def test_every_remedy_of_a_vendors_code_is_in_the_book() -> None:
    rows = (row for table in REPLIES.values() for row in table)
    assert [row.remedy for row in rows if row.remedy and reading(row.remedy).unread] == []


def test_it_is_said_what_is_not_known_of_a_lost_task_beside_how_sure_the_verdict_is() -> None:
    lost = LossEvidence(by=LossCause.NODE_LOST, text="", proven=False)
    said = _gone("task worker-1", lost)
    assert said == "task worker-1 is gone: node_lost, whether its processes ended is not known"
    assert told(said, Language.ZH) == "实例 worker-1 已丢失：节点失联，其进程是否已终止尚不清楚"
    old = told("task worker-1 is gone: node_lost, not proven", Language.ZH)
    assert old == told(said, Language.ZH), "what was said before is read as well"


def test_a_sentence_that_is_half_known_is_told_by_half() -> None:
    assert reading("node n1 isolated: words of tomorrow").text == "已隔离节点 n1：words of tomorrow"
    assert reading("node n1 isolated: words of tomorrow").unread == len("words of tomorrow")


def test_a_long_line_of_a_log_takes_no_time() -> None:
    line = "rank 3 said: " + "a; b: (c) " * 190
    begun = time.process_time()
    told(line, Language.ZH)
    assert time.process_time() - begun < 1
