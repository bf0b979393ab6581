"""Which part of the longest walks a run takes: another part every few days, in turn, or the whole of them."""

import os
from collections.abc import Sequence
from typing import TypeVar

SHARE, PART = "KEEPSTEP_TEST_SHARE", "KEEPSTEP_TEST_PART"
DAYS = 5
"""Of the tests that run whole jobs for minutes, one of five runs each day, another fifth the next day."""

T = TypeVar("T")


def share_of(ordinary: int) -> int:
    """Return one of how many parts is taken: ordinarily that many, all with KEEPSTEP_TEST_SHARE=1."""
    return int(os.environ.get(SHARE, ordinary))


def turn() -> int:
    """Return how often the days have come round: what a long test takes changes with each time that it runs."""
    return int(os.environ[PART]) // DAYS


def todays(steps: Sequence[T], share: int, offset: int = 0) -> Sequence[T]:
    """Return one of so many parts of the steps, the next one at each turn; offsets keep walks apart."""
    return steps[(offset + turn()) % share :: share]
