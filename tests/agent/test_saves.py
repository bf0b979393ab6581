"""How long a checkpoint took to save is told by the saves in which its files were written, and by no other."""

import pytest

from keepstep.agent.saves import GRAIN_S, save_seconds
from keepstep.trainer.progress import Save


def save(began: float, ended: float) -> Save:
    return Save(int(began * 1e9), int(ended * 1e9))


BEFORE, ONE, AFTER = save(90, 91), save(100, 103), save(110, 112)


@pytest.mark.parametrize(
    ("ranks", "modified", "seconds"),
    [
        pytest.param([[BEFORE, ONE, AFTER]], {102.9}, 3, id="the one save of a rank"),
        pytest.param([[AFTER, ONE, BEFORE]], {102.9}, 3, id="in whatever order they were noted"),
        pytest.param([[ONE], [save(100, 104.5)], []], {102.9}, 4.5, id="the slowest rank's, where one saved nothing"),
        pytest.param([[ONE, save(103.5, 104)]], {101, 103.9}, 4, id="two calls and what lies between them"),
        pytest.param([[ONE, AFTER]], {50, 102}, 3, id="a file that was only linked is of no save"),
        pytest.param([[ONE]], {100 - GRAIN_S / 2}, 3, id="the file system's clock is coarser"),
        pytest.param([[BEFORE, ONE, AFTER]], {105}, None, id="written by other means"),
        pytest.param([], {105}, None, id="no page to read"),
        pytest.param([[ONE]], set(), None, id="no file"),
    ],
)
def test_the_seconds_of_a_save(ranks: list[list[Save]], modified: set[float], seconds: float | None) -> None:
    assert save_seconds(ranks, modified) == (None if seconds is None else pytest.approx(seconds))
