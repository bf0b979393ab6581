"""How long is waited between tries."""

from datetime import timedelta

import pytest

from keepstep.runtime.pace import Pace


@pytest.mark.parametrize(
    ("asked_s", "tries", "wait_s"), [(0.2, 1, 0.2), (0.2, 3, 0.8), (1, 9, 10), (10, 2, 10), (30, 1, 30), (30, 5, 30)]
)
def test_nobody_comes_again_sooner_than_he_was_asked_to(asked_s: float, tries: int, wait_s: float) -> None:
    """An API server that said Retry-After: 30 was met again after 10 s."""
    assert Pace().asked_s(timedelta(seconds=asked_s), tries) == pytest.approx(wait_s)
