"""Every member of a closed set that people see, and every message, has its name in both languages."""

import re
from typing import get_args, get_type_hints

import pytest

from keepstep.console.pages import job_form
from keepstep.console.pages.reader import Theme
from keepstep.console.views import FaultSource, RankState
from keepstep.contracts import events as e
from keepstep.contracts.events import Accounts
from keepstep.contracts.message import Message, messages
from keepstep.contracts.taxonomy import (
    AlertKind,
    Applied,
    Category,
    Entrance,
    Language,
    Level,
    LossCause,
    Outcome,
    Phase,
    Role,
    Service,
    Severity,
    Stage,
    StallSign,
)
from keepstep.core.course import Awaits
from keepstep.core.job_now import JobState
from keepstep.core.node_standing import NodeState
from keepstep.core.sentences import sentence
from keepstep.core.spent import OPEN, PRODUCTIVE, STARTUP
from keepstep.core.stages import CUTS, stages_of
from keepstep.core.words.labels import label, message_label
from keepstep.core.words.messages import MESSAGES
from keepstep.core.words.reading import reading
from keepstep.core.words.sets import SETS
from keepstep.detector.core.nodes import OVER
from keepstep.diagnoser.core.diagnose import settling
from keepstep.diagnoser.core.overdue import OVERDUE
from keepstep.isolator.core.state import EXPIRY
from keepstep.notifier.core.escalation import CLIMB
from keepstep.notifier.core.outgoing.decide import AGAIN, SENDS
from keepstep.notifier.core.waiting import RETRY
from keepstep.scheduler_adapter.core.due import Due
from keepstep.scheduler_adapter.core.state import Life
from tests.contracts.examples import example

ACCOUNTS = Accounts(
    detect_s=1, decide_s=1, isolate_s=1, people_s=1, reschedule_s=1, init_s=1, load_s=1, first_step_s=1, recompute_s=1,
    wall_s=9,
)  # fmt: skip
EVIDENCE = [get_args(get_type_hints(one)["kind"])[0] for one in get_args(get_args(e.Evidence)[0])]
MEMBERS: dict[str, tuple[str, ...]] = {
    "category": tuple(Category),
    "level": tuple(Level),
    "outcome": tuple(Outcome),
    "severity": tuple(Severity),
    "alert": tuple(AlertKind),
    "story": tuple(Stage),
    "cause": tuple(LossCause),
    "sign": tuple(StallSign),
    "phase": tuple(Phase),
    "applied": tuple(Applied),
    "service": tuple(Service),
    "finish": tuple(e.Finish),
    "job": tuple(JobState),
    "node": tuple(NodeState),
    "rank": tuple(RankState),
    "awaits": tuple(Awaits),
    "source": tuple(FaultSource),
    "life": tuple(Life),
    "deadline": (
        *Due,
        *(one.rstrip("/") for one in (OVER, OVERDUE, EXPIRY, SENDS, AGAIN, CLIMB, RETRY, settling(1).rstrip("1"))),
    ),
    "stage": (
        *(one.name for one in stages_of(ACCOUNTS)),
        *(name for name, _ in CUTS),
        "until_closed",
        "so_far",
        STARTUP,
        PRODUCTIVE,
        OPEN,
    ),
    "budget": job_form.BUDGETS,
    "role": tuple(Role),
    "entrance": tuple(Entrance),
    "pending": ("wait", "fail"),
    "theme": tuple(Theme),
    "standing": ("open", "closed", "overdue", "active", "over", "paused", "blamed", "isolated"),
    "evidence": (*EVIDENCE, LossCause.NODE_LOST),
}


def test_a_kind_names_all_its_members_and_no_others() -> None:
    assert {kind: set(words) for kind, words in SETS.items()} == {k: set(map(str, m)) for k, m in MEMBERS.items()}


def test_every_member_reads_well_in_both_languages() -> None:
    pairs = [(kind, word) for kind, words in MEMBERS.items() for word in words]
    assert [pair for pair in pairs if "_" in label(*pair, Language.EN)] == []
    assert [pair for pair in pairs if not re.search(r"[\u4e00-\u9fff]", label(*pair, Language.ZH))] == []


def test_no_two_members_of_a_kind_share_a_name() -> None:
    assert [kind for kind, words in SETS.items() if len({one.zh for one in words.values()}) < len(words)] == []


def test_every_message_has_a_name_in_both_languages_and_no_name_is_left_over() -> None:
    assert set(MESSAGES) == set(messages())
    assert len(set(MESSAGES.values())) == len(MESSAGES)
    assert message_label("RecoveryPlanned", Language.EN) == "Recovery planned"
    assert message_label("RecoveryPlanned", Language.ZH) == "恢复计划"
    assert message_label("WordOfTomorrow", Language.ZH) == "WordOfTomorrow"


@pytest.mark.parametrize("name", messages())
def test_every_message_says_a_sentence_that_is_told_in_chinese(name: str) -> None:
    """An example's own texts are no sentences; what stands around them must be read."""
    message = example(messages()[name])
    if isinstance(message, e.JobFound | e.JobCreated):
        message = message.model_copy(update={"kind": "PyTorchJob default/llama"})
    assert isinstance(message, Message)
    said = sentence(message)
    assert said != name
    assert re.search(r"[\u4e00-\u9fff]", reading(said).text), said
    left = re.sub(r"\b\w+-1\b|because-1|text-1", "", reading(said).text)
    assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", left), left
