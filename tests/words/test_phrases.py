"""Every phrase is had back from its English, whole, and reads as Chinese."""

import re
import time

import pytest

from keepstep.contracts.taxonomy import Language
from keepstep.core.words.book import TABLES
from keepstep.core.words.holes import HOLES
from keepstep.core.words.phrase import HOLE, SAID
from keepstep.core.words.reading import LONGEST, PHRASES, reading, told
from tests.words.samples import WITHIN, sample, written

BY_ENGLISH = {phrase.english: phrase for phrase in PHRASES}
HAN = r"[\u4e00-\u9fff]"


@pytest.mark.parametrize("english", sorted(BY_ENGLISH))
def test_a_phrase_is_read_as_it_is_written(english: str) -> None:
    phrase = BY_ENGLISH[english]
    said = {name: told(WITHIN, Language.ZH) if kind == SAID else HOLES[kind].read(sample(kind))
            for name, kind in phrase.holes.items()}  # fmt: skip
    assert reading(written(phrase)) == (phrase.filled(said), 0)


@pytest.mark.parametrize("english", sorted(BY_ENGLISH))
def test_a_phrase_says_the_same_in_chinese(english: str) -> None:
    phrase = BY_ENGLISH[english]
    assert set(HOLE.findall(phrase.chinese)) == {(name, "") for name in phrase.holes}
    own = HOLE.sub("", phrase.chinese)
    assert re.search(HAN, own) or phrase.bare or not re.search(r"[a-z]{3} [a-z]{3}", own), "no word of Chinese"
    assert not re.search(r"[,;:!?](?= |$)", own), "Chinese sentences are pointed in full width"
    assert not re.search(rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}", own), "a space parts the scripts"


def test_no_sentence_has_two_lines_in_the_tables() -> None:
    assert len(BY_ENGLISH) == sum(map(len, TABLES)) == len(PHRASES)


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
    "words", ["fan is loud; please look", "RuntimeError: CUDA error", "", "机房断电", "all tasks are gone" * LONGEST]
)
def test_what_people_and_programs_wrote_stays_as_it_is(words: str) -> None:
    assert told(words, Language.ZH) == words


def test_what_stands_in_an_unknown_sentence_is_left_whole() -> None:
    assert told("drain: fan is loud: bad (really); call me", Language.ZH) == "排水：fan is loud: bad (really); call me"


def test_a_sentence_that_is_half_known_is_told_by_half() -> None:
    assert reading("node n1 isolated: words of tomorrow").text == "已隔离节点 n1：words of tomorrow"
    assert reading("node n1 isolated: words of tomorrow").unread == len("words of tomorrow")


def test_a_long_line_of_a_log_takes_no_time() -> None:
    line = "rank 3 said: " + "a; b: (c) " * 190
    begun = time.process_time()
    told(line, Language.ZH)
    assert time.process_time() - begun < 1
