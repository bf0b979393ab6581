"""The parts of an incident's accounts add up to its wall time, whatever the clocks say."""

import math
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from keepstep.core.accounting import Instants, Stages, account, step_seconds
from keepstep.core.backoff import backoff

START = datetime(2026, 1, 1, tzinfo=UTC)
PARTS = ("detect_s", "decide_s", "isolate_s", "reschedule_s", "init_s", "load_s", "first_step_s", "recompute_s")
ALL = (*PARTS, "people_s")


def instants(*offsets: float) -> Instants:
    names = ("occurred", "detected", "diagnosed", "planned", "started", "resumed")
    return Instants(**{name: START + timedelta(seconds=at) for name, at in zip(names, offsets, strict=True)})


def test_each_part_is_the_time_between_two_stages() -> None:
    accounts = account(
        instants(0, 0.125, 0.375, 0.5, 1.5, 3.5),
        Stages(init_s=0.5, load_s=0.25, lost_steps=4, step_s=0.5),
    )
    assert [getattr(accounts, part) for part in PARTS] == [0.125, 0.25, 0.125, 1.0, 0.5, 0.25, 1.25, 2.0]
    assert accounts.wall_s == 5.5
    assert accounts.estimated


def test_a_rank_that_started_before_the_last_one_keeps_its_first_step() -> None:
    """On a busy machine the word that all have started came late: the slowest rank's first step took nothing."""
    measured = Stages(init_s=11.25, load_s=0.25, first_step_s=0.5)
    accounts = account(instants(0, 0, 0, 0, 5, 15), measured)
    assert (accounts.reschedule_s, accounts.init_s, accounts.load_s, accounts.first_step_s) == (5, 9.25, 0.25, 0.5)


def test_a_wait_for_people_is_no_part_of_the_stage_it_lies_in() -> None:
    waits = ((START + timedelta(seconds=3), START + timedelta(seconds=603)),)
    accounts = account(instants(0, 1, 2, 604, 605, 606).model_copy(update={"waits": waits}), Stages())
    assert (accounts.people_s, accounts.isolate_s, accounts.wall_s) == (600, 2, 606)


def test_nothing_to_compute_again_is_no_estimate() -> None:
    assert not account(instants(0, 1, 2, 3, 4, 5), Stages(lost_steps=0, step_s=1.0)).estimated


@given(
    offsets=st.lists(st.floats(-1e4, 1e4), min_size=6, max_size=6),
    stages=st.builds(
        Stages,
        init_s=st.floats(-10, 1e4),
        load_s=st.floats(-10, 1e4),
        first_step_s=st.floats(-10, 1e4),
        lost_steps=st.none() | st.integers(0, 10_000),
        step_s=st.none() | st.floats(0, 100),
    ),
)
def test_the_parts_add_up_to_the_wall_and_none_is_negative(offsets: list[float], stages: Stages) -> None:
    waits = ((START, START + timedelta(seconds=50)), (START + timedelta(seconds=50), START + timedelta(seconds=500)))
    accounts = account(instants(*offsets).model_copy(update={"waits": waits}), stages)
    parts = [getattr(accounts, part) for part in ALL]
    assert min(parts) >= 0
    assert math.fsum(parts) == accounts.wall_s


def test_seconds_per_step_need_a_step_between_two_marks() -> None:
    later = START + timedelta(seconds=10)
    assert step_seconds(START, later, first=10, last=30) == 0.5
    assert step_seconds(START, later, first=30, last=30) is None
    assert step_seconds(START, later, first=None, last=30) is None
    assert step_seconds(later, START, first=10, last=30) is None


def test_back_off_doubles_up_to_its_limit() -> None:
    pauses = [backoff(tries).total_seconds() for tries in (-1, 0, 1, 2, 5, 6, 1000)]
    assert pauses == [1, 1, 2, 4, 32, 60, 60]
