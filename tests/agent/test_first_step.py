"""The first step of all local ranks, and where the time went."""

import pytest

from keepstep.agent.first_step import FirstStep, first_step
from tests.agent.makers import SECOND, slot


def at(seconds: float) -> int:
    return int(seconds * SECOND)


def test_nothing_is_said_before_every_rank_stepped_in_this_generation() -> None:
    done = slot(first_ns=at(3), step=1)
    assert first_step([], 1) is None
    assert first_step([done, slot()], 1) is None
    assert first_step([done, slot(generation=0, first_ns=at(3))], 1) is None
    assert first_step([done, done], 1) is not None


def test_times_are_of_the_slowest_rank_and_add_up() -> None:
    fast = slot(first_ns=at(2), step=11, estimated=True)
    slow = slot(init_ns=at(3), load_ns=at(3.5), first_ns=at(6), step=11)
    assert first_step([fast, slow], 1) == FirstStep(step=11, estimated=True, init_s=2, load_s=0.5, first_step_s=2.5)


@pytest.mark.parametrize(
    ("init", "load", "expected"),
    [
        (0, 0, (0, 0, 5)),
        (2, 4, (1, 2, 2)),
        (4, 2, (2, 1, 2)),
        (2, 0, (1, 0, 4)),
        (9, 2, (0, 1, 4)),
    ],
)
def test_each_stage_is_charged_from_the_one_before(init: float, load: float, expected: tuple[float, ...]) -> None:
    found = first_step([slot(init_ns=at(init), load_ns=at(load), first_ns=at(6), step=1)], 1)
    assert found is not None
    assert (found.init_s, found.load_s, found.first_step_s) == expected
    assert sum(expected) == 5
