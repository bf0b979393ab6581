"""A bus outage alone never stops ranks; an outage without steps does."""

from datetime import timedelta

import pytest

from keepstep.agent.bus import CutOff
from keepstep.agent.fence import fence
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import Exit, RankBeat

STUCK = RankBeat(rank=0, pid=1, step=7, phase=Phase.STEP, mark_age_s=25, idle_s=25)
STEPPING = STUCK.model_copy(update={"rank": 1, "mark_age_s": 0.4, "idle_s": 0.0})
EVALUATING = STUCK.model_copy(update={"phase": Phase.EVALUATION})
MARKLESS = RankBeat(rank=0, pid=1, phase=Phase.STARTING, mark_age_s=5000, idle_s=0.0)
GONE = STEPPING.model_copy(update={"exit": Exit(code=0)})


@pytest.mark.parametrize(
    ("beats", "cut_off_s", "tasks", "fenced"),
    [
        ([STUCK, STUCK], 21, 2, True),
        ([STUCK, STUCK], 19, 2, False),
        ([STUCK, STEPPING], 3600, 2, False),
        ([STUCK, GONE], 21, 2, True),
        ([GONE], 3600, 2, False),
        ([STUCK], 3600, 1, False),
        ([EVALUATING], 3600, 2, False),
        ([EVALUATING.model_copy(update={"mark_age_s": 3700})], 3700, 2, True),
        ([MARKLESS], 5000, 2, False),
        ([MARKLESS.model_copy(update={"idle_s": 1000})], 5000, 2, True),
        ([], 3600, 2, False),
    ],
)
def test_when_an_agent_stops_its_ranks(beats: list[RankBeat], cut_off_s: float, tasks: int, fenced: bool) -> None:
    because = fence(beats, cut_off=timedelta(seconds=cut_off_s), tasks=tasks, policy=Policy())
    assert bool(because) is fenced


def test_the_reason_has_its_numbers() -> None:
    because = fence([STUCK], cut_off=timedelta(seconds=30), tasks=2, policy=Policy())
    assert "30 s" in because
    assert "25 s" in because
    assert "limit 20 s" in because


def test_cut_off_begins_when_the_connection_goes() -> None:
    cut = CutOff()
    assert cut.lasted_s(0, connected=True, unanswered_s=0) == 0
    assert cut.lasted_s(10, connected=False, unanswered_s=0) == 0
    assert cut.lasted_s(35, connected=False, unanswered_s=0) == 25
    assert cut.lasted_s(36, connected=True, unanswered_s=0) == 0
    assert cut.lasted_s(37, connected=False, unanswered_s=0) == 0


def test_a_server_that_does_not_answer_is_an_outage_too() -> None:
    cut = CutOff()
    assert cut.lasted_s(100, connected=True, unanswered_s=4.9) == 0
    assert cut.lasted_s(101, connected=True, unanswered_s=5.9) == pytest.approx(5.9)
    assert cut.lasted_s(111, connected=True, unanswered_s=15.9) == pytest.approx(15.9)
