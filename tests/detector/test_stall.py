"""When a job hangs, and the many times it does not."""

from datetime import timedelta
from typing import Any

import pytest

from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import Phase, StallSign
from keepstep.contracts.telemetry import Exit, RankBeat
from keepstep.detector.core.stall import Stall, find_stall
from tests.detector.facts import at_step

POLICY = DetectionPolicy()
WAITING: dict[str, Any] = {"mark_age_s": 40.0, "idle_s": 0.0, "stack": ("pg.py:wait",), "waiting": True}
STUCK: dict[str, Any] = {
    "mark_age_s": 40.0,
    "idle_s": 39.0,
    "stack_still_s": 38.0,
    "stack": ("threading.py:acquire",),
    "waiting": False,
}
LONG: dict[str, Any] = {"mark_age_s": 700.0}


def find(*ranks: RankBeat, policy: DetectionPolicy = POLICY, marks: bool = True) -> Stall | None:
    return find_stall(ranks, policy=policy, marks=marks)


def named(stall: Stall | None) -> list[tuple[int, StallSign, bool | None]]:
    assert stall is not None
    return [(evidence.rank, evidence.sign, evidence.waiting) for evidence in stall.stalls]


def test_a_rank_that_stands_still_while_all_others_wait_for_it_is_an_outlier() -> None:
    ranks = [at_step(rank, **(STUCK if rank == 1 else WAITING)) for rank in range(4)]
    assert named(find(*ranks)) == [(1, StallSign.OUTLIER, False)]


def test_of_two_ranks_the_one_that_does_not_wait_is_the_outlier() -> None:
    assert named(find(at_step(0, **WAITING), at_step(1, **STUCK))) == [(1, StallSign.OUTLIER, False)]


@pytest.mark.parametrize(
    "odd",
    [
        STUCK | {"idle_s": 5.0},
        STUCK | {"stack_still_s": 5.0},
        STUCK | {"waiting": None},
        STUCK | {"mark_age_s": 5.0},
        STUCK | {"step_s": 8.0},
        STUCK | {"phase": Phase.CHECKPOINT},
        STUCK | {"phase": Phase.EVALUATION},
        STUCK | {"phase": Phase.COMPILE},
        STUCK | {"step_s": None},
        WAITING,
    ],
    ids=[
        "uses CPU time",
        "its stack moves",
        "its stack is not known",
        "it marked a moment ago",
        "its steps are slow",
        "it saves a checkpoint",
        "it evaluates",
        "it compiles",
        "its first step",
        "it waits too",
    ],
)
def test_no_outlier_is_called_on_less_than_all_the_evidence(odd: dict[str, Any]) -> None:
    others = [at_step(rank, **WAITING) for rank in (0, 2, 3)]
    assert find(at_step(1, **odd), *others) is None


def test_half_of_four_ranks_is_no_minority() -> None:
    assert find(*[at_step(rank, **(STUCK if rank < 2 else WAITING)) for rank in range(4)]) is None


def test_a_job_past_its_limit_hangs_and_the_rank_that_does_not_wait_is_named() -> None:
    busy = at_step(1, **LONG, waiting=False)
    others = [at_step(rank, **LONG, waiting=True) for rank in (0, 2, 3)]
    assert named(find(busy, *others)) == [(1, StallSign.NO_PROGRESS, False)]


def test_the_only_rank_that_still_runs_is_to_blame_for_its_hang() -> None:
    """Three of four ranks had finished, the fourth stood in a lock, and nobody was blamed again and again."""
    gone = [at_step(rank, **LONG, exit=Exit(code=0)) for rank in (0, 2, 3)]
    stall = find(at_step(1, **LONG, waiting=False), *gone)
    assert named(stall) == [(1, StallSign.NO_PROGRESS, False)]
    assert stall is not None
    assert stall.because == "rank 1 made no step for 700.0 s and no other rank runs; limit 600 s"
    assert named(find(at_step(1, **LONG, waiting=True), *gone)) == [(1, StallSign.NO_PROGRESS, None)]


def test_a_rank_that_stays_behind_while_the_others_step_is_named_after_the_limit() -> None:
    late = at_step(2, **(LONG | {"waiting": False}))
    assert named(find(at_step(0), at_step(1), late, at_step(3))) == [(2, StallSign.NO_PROGRESS, False)]
    assert named(find(at_step(0), late)) == [(2, StallSign.NO_PROGRESS, False)]


@pytest.mark.parametrize(
    "late",
    [LONG | {"waiting": True}, LONG | {"waiting": None}, LONG | {"waiting": False, "mark_age_s": 599.0}],
    ids=["it waits for others", "nobody knows whether it waits", "it has time left"],
)
def test_a_rank_behind_the_others_may_have_its_reason(late: dict[str, Any]) -> None:
    assert find(at_step(0), at_step(1), at_step(2, **late), at_step(3)) is None


def test_half_of_the_ranks_behind_the_others_are_no_minority() -> None:
    late = LONG | {"waiting": False}
    assert find(at_step(0), at_step(1), at_step(2, **late), at_step(3, **late)) is None


def test_a_hang_in_which_all_wait_blames_nobody() -> None:
    assert named(find(*[at_step(rank, **LONG, waiting=True) for rank in range(4)])) == [
        (0, StallSign.NO_PROGRESS, None)
    ]


def test_a_hang_in_which_most_do_not_wait_blames_nobody() -> None:
    ranks = [at_step(rank, **LONG, waiting=rank == 0) for rank in range(4)]
    assert [waiting for _, _, waiting in named(find(*ranks))] == [None]


def test_a_small_hang_limit_finds_a_loop_that_still_logs() -> None:
    policy = DetectionPolicy(hang_limit=timedelta(seconds=5))
    busy = at_step(1, mark_age_s=6.0, idle_s=0.0, waiting=False)
    others = [at_step(rank, mark_age_s=6.0, waiting=True) for rank in (0, 2, 3)]
    assert named(find(busy, *others, policy=policy)) == [(1, StallSign.NO_PROGRESS, False)]


@pytest.mark.parametrize(
    "rank0",
    [
        at_step(0, phase=Phase.EVALUATION, mark_age_s=1800),
        at_step(0, phase=Phase.CHECKPOINT, mark_age_s=1200),
        at_step(0, phase=Phase.COMPILE, mark_age_s=1800),
        at_step(0, phase=Phase.LOAD, mark_age_s=1200),
        at_step(0, phase=Phase.STEP, mark_age_s=1.0),
    ],
)
def test_one_rank_in_a_long_phase_excuses_all_who_wait_for_it(rank0: RankBeat) -> None:
    assert find(rank0, *[at_step(rank, mark_age_s=1800, waiting=True) for rank in (1, 2, 3)]) is None


def test_a_phase_has_a_limit_too() -> None:
    ranks = [at_step(0, phase=Phase.CHECKPOINT, mark_age_s=1900), *[at_step(r, mark_age_s=1900) for r in (1, 2, 3)]]
    assert find(*ranks) is not None


@pytest.mark.parametrize("phase", [Phase.STARTING, Phase.INIT, Phase.STEP])
@pytest.mark.parametrize(("minutes", "called"), [(14, False), (16, True)])
def test_the_first_step_has_the_start_up_tolerance(phase: Phase, minutes: int, called: bool) -> None:
    """15 minutes of it, until the second step: silent for 14 is no hang, for 16 is one."""
    first: dict[str, Any] = {"step_s": None, "step": None, "phase": phase, "mark_age_s": minutes * 60.0}
    assert (find(*[at_step(rank, **first) for rank in range(4)]) is not None) is called


@pytest.mark.parametrize("idle_s", [0.0, 5000.0])
def test_a_job_that_never_marks_is_never_called_hung(idle_s: float) -> None:
    ranks = [at_step(r, None, phase=Phase.STARTING, step_s=None, mark_age_s=5000, idle_s=idle_s) for r in range(2)]
    assert find(*ranks, marks=False) is None


def test_with_torch_imported_a_start_is_hung_only_if_it_uses_no_cpu_time_either() -> None:
    def start(idle_s: float) -> list[RankBeat]:
        fields: dict[str, Any] = {"phase": Phase.STARTING, "step_s": None, "mark_age_s": 1000.0, "idle_s": idle_s}
        return [at_step(rank, None, uses_torch=True, **fields) for rank in range(2)]

    assert find(*start(0.0), marks=False) is None
    assert find(*start(950.0), marks=False) is not None
    assert find(*start(0.0), marks=True) is not None


def test_a_finished_rank_is_not_counted_and_a_finished_job_does_not_hang() -> None:
    done = at_step(3, mark_age_s=1000, exit=Exit(code=0))
    assert find(done) is None
    assert named(find(at_step(0, **LONG, waiting=True), done)) == [(0, StallSign.NO_PROGRESS, None)]


def test_hang_detection_can_be_turned_off() -> None:
    policy = DetectionPolicy(hang_detection=False)
    assert find(*[at_step(rank, **LONG) for rank in range(4)], policy=policy) is None
