"""When an isolation ends is told as it is: a lost node comes back once it is ready, long before its time."""

from datetime import timedelta

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Language
from keepstep.core.isolation_end import isolation_end
from keepstep.core.words.facts import fact
from keepstep.core.words.reading import told
from tests.core.test_timeline import at, fields

WEEK, MINUTE = at(7 * 86_400), timedelta(seconds=60)


def isolated(**more: object) -> e.NodeIsolated:
    return e.NodeIsolated.model_validate(fields("i", 0, node="n1", reason="r", because="b", **more))


@pytest.mark.parametrize(
    ("message", "english", "chinese"),
    [
        (isolated(), "until a person releases it", "直到人工解除"),
        (
            isolated(until=WEEK, release_after=MINUTE, when_ready=True),
            "until it was ready for 60 s, or by a person",
            "连续就绪 60 秒后自动解除，也可由人工解除",
        ),
        (
            isolated(until=WEEK, release_after=MINUTE),
            "until 2026-01-08 00:00:00 UTC, then released once it was ready for 60 s; sooner by a person",
            "至 2026 年 1 月 8 日 00:00（UTC），此后连续就绪 60 秒即解除；可由人工提前解除",
        ),
        (
            isolated(until=WEEK),
            "until 2026-01-08 00:00:00 UTC, sooner by a person, or where it was lost once it is ready again",
            "至 2026 年 1 月 8 日 00:00（UTC）；可由人工提前解除，失联的节点恢复就绪后也会提前解除",
        ),
    ],
)
def test_an_isolation_tells_what_ends_it(message: e.NodeIsolated, english: str, chinese: str) -> None:
    assert isolation_end(message) == english
    assert told(english, Language.ZH) == chinese


@pytest.mark.parametrize("word", ["until", "open since"])
def test_an_instant_in_a_message_to_people_is_written_as_chinese_is(word: str) -> None:
    assert fact(word, "2026-01-08T03:04+00:00", Language.ZH)[1] == "2026 年 1 月 8 日 03:04（UTC）"
    assert fact(word, "released by hand", Language.ZH)[1] == "人工解除为止"
    assert fact(word, "2026-01-08T03:04+00:00", Language.EN)[1] == "2026-01-08T03:04+00:00"


def test_an_instant_within_a_sentence_is_written_as_chinese_is() -> None:
    said = "the detector is blind since 2026-01-08T03:04:05.678+00:00: 3 of 8 agents silent"
    assert told(said, Language.ZH).startswith("检测自 2026 年 1 月 8 日 03:04:05（UTC）起失明：")
