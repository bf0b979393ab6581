"""Nothing of a sentence stays English in Chinese but names, ids, units, and words of tools that have no Chinese."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import get_args

import pytest

from keepstep.adapters.channel_layout import laid_out
from keepstep.adapters.channel_markup import Format
from keepstep.adapters.channel_words import worded
from keepstep.contracts.events import FaultDetected, JobCreated, JobFound
from keepstep.contracts.message import Message, messages
from keepstep.contracts.taxonomy import Language
from keepstep.core.sentences import sentence
from keepstep.core.words.phrase import HOLE, Phrase, heaviest_first
from keepstep.core.words.phrases.agents import AGENTS
from keepstep.core.words.phrases.checkpoints import CHECKPOINTS
from keepstep.core.words.phrases.detection import DETECTION
from keepstep.core.words.phrases.diagnosis import DIAGNOSIS
from keepstep.core.words.phrases.isolation import ISOLATION
from keepstep.core.words.phrases.placing import PLACING
from keepstep.core.words.phrases.recovery import RECOVERY
from keepstep.core.words.phrases.refusals import REFUSALS
from keepstep.core.words.phrases.reports import REPORTS
from keepstep.core.words.phrases.restarts import RESTARTS
from keepstep.core.words.reading import PHRASES, reading
from keepstep.notifier.core.alerts import alert
from keepstep.notifier.core.letters import by_address, letter
from keepstep.notifier.core.words import words
from tests.contracts.examples import example
from tests.words.samples import WITHIN, written

TERMS = frozenset(
    """
    rank agent webhook keepstep suspend runtime finalizer fencing cordon uncordon token key id uid up down
    worker scope openid completions parallelism table server apprise http python torch torchrun pvc nfs
    hostpath
    """.split()  # noqa: SIM905 - a page of words is read more easily than a column
)
"""Words that Chinese engineers write as they are, and names of tools."""
FIELDS = frozenset(
    """
    true false kind nodes nproc env cwd cursor limit keyword secret url headers params people policies quiet
    gather total terminating text local kubernetes allow to mention user password tls host retry success log
    team datasets tojson train
    """.split()  # noqa: SIM905 - a page of words is read more easily than a column
)
"""Names and values of fields and settings, as they are written in files."""
NAMED = re.compile(
    r"keepstep(?: [a-z-]+)+|(?:kubectl|vcctl|bash|sh|accelerate)(?: [-\w/]+)+|python -m [\w.]+"  # commands
    r"|--[\w*-]+|\w+=\w+|[\w./-]*[\d_./<>][\w./<>-]*|\w+(?:-\w+)+|\[[^\]]*\]|\"[^\"]*\""  # flags, paths, lists
    r"|\b\w*[A-Z]\w*\b"  # names of things: Pod, JobSet, backoffLimit, UTC
)
"""What is written as it is wherever it stands."""


def left_over(chinese: str) -> list[str]:
    """Return the English words of a Chinese sentence that are no names."""
    own = NAMED.sub(" ", chinese)
    return [word for word in re.findall(r"[a-z]{2,}", own) if word not in TERMS | FIELDS]


def forms(message: Message) -> Iterator[Message]:
    """Yield the message with each value of its closed sets, and without what may be missing."""
    yield message
    own = type(message).model_fields.keys() - Message.model_fields.keys()
    for name, field in ((one, type(message).model_fields[one]) for one in sorted(own)):
        value = getattr(message, name)
        if isinstance(value, Enum):
            yield from (message.model_copy(update={name: one}) for one in type(value))
        elif isinstance(value, bool):
            yield message.model_copy(update={name: not value})
        elif type(None) in get_args(field.annotation):
            yield message.model_copy(update={name: None})


def about(name: str) -> Message:
    """Return an example whose own texts are names, or sentences that are read."""
    found = example(messages()[name])
    assert isinstance(found, Message)
    texts = {field: WITHIN for field in ("because", "text") if hasattr(found, field)}
    texts |= {"subject_name": "rank 3"} if isinstance(found, FaultDetected) else {}
    if isinstance(found, JobFound | JobCreated):
        texts["kind"] = "PyTorchJob default/llama"
    return found.model_copy(update=texts)


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.english[:60])
def test_no_phrase_keeps_english_in_its_chinese(phrase: Phrase) -> None:
    assert left_over(HOLE.sub("某", phrase.chinese)) == []


@pytest.mark.parametrize("name", sorted(messages()))
def test_no_message_in_any_form_is_told_in_half_english(name: str) -> None:
    told = {said: reading(said).text for said in map(sentence, forms(about(name)))}
    assert {said: text for said, text in told.items() if left_over(text)} == {}


@pytest.mark.parametrize("name", sorted(messages()))
def test_no_notice_in_any_form_is_told_in_half_english(name: str) -> None:
    """All of it as mail shows it: title, lead, text, facts, footer and links."""
    left = dict[str, list[str]]()
    for message in forms(about(name)):
        if (said := words(message)) is None:
            continue
        one = letter(message, said, alert(message), ("thread-1", 2), console="http://c.example")
        shown = laid_out(worded(by_address(one, "log").notice, Language.ZH, "Asia/Shanghai"), Format.TEXT)
        left |= {line: found for line in shown.splitlines() if (found := left_over(line))}
    assert left == {}


def test_english_in_a_chinese_sentence_would_be_found() -> None:
    assert left_over("节点 n1 出现 NodeBad：the fan is loud，见 keepstep node list") == ["the", "fan", "is", "loud"]


DECIDED = (DETECTION, DIAGNOSIS, ISOLATION, CHECKPOINTS, RECOVERY, PLACING, RESTARTS, REFUSALS, AGENTS, REPORTS)
"""Reasons of decisions, which other sentences hold."""
TAIL = re.compile(r"\{\w+:said\}")
"""What follows another sentence, and could as well follow both."""
WRAPS = (
    ("fault of node n1: {}", "节点 n1 故障：{}"),
    ("incident opened: {}", "故障单创建：{}"),
    ("cleared: {}", "已自愈：{}"),
    ("waiting: {}", "等待：{}"),
    ("device_hardware, blamed on node n1: {}", "加速卡硬件故障，故障点节点 n1：{}"),
    ("level pod, generation 3: {}", "采用“Pod 级重调度”，第 3 代：{}"),
)


@pytest.mark.parametrize(("around", "chinese"), WRAPS)
def test_a_sentence_reads_within_another_as_it_does_alone(around: str, chinese: str) -> None:
    alone = {phrase: written(phrase) for phrase in heaviest_first(DECIDED) if not TAIL.match(phrase.english)}
    wrong = {
        phrase.english: reading(around.format(said)).text
        for phrase, said in alone.items()
        if reading(around.format(said)).text != chinese.format(reading(said).text)
    }
    assert wrong == {}
