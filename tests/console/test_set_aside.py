"""The collector frees what is garbage, and does not look at what is kept again."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from keepstep.console.set_aside import EVERY_S, START_S, pause, settle
from tests.console.said import began, heard, struck


@pytest.fixture
def thawed() -> Iterator[None]:
    """Leave the collector to the other tests as it was."""
    yield
    gc.unfreeze()


class Knot:
    """Something that holds itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("thawed")
def test_what_is_kept_is_looked_at_no_more_and_garbage_goes() -> None:
    """A full collection of what 5,000 incidents leave took longer than a page may."""
    model = heard(*began(), *(one for number in range(50) for one in struck(f"i{number}", 10 + 5 * number)))
    knot = Knot()
    gone = weakref.ref(knot)
    del knot
    settle()
    assert gone() is None
    left = {id(one) for one in gc.get_objects()}
    assert id(model.incidents) not in left
    assert id(model.incidents.row(next(model.incidents.newest()).incident)) not in left
    story = weakref.ref(model.incidents)
    del model
    assert story() is None, "what is set aside is freed as soon as nobody holds it"


def test_what_a_start_makes_is_set_aside_bit_by_bit() -> None:
    """All of it at once held an answer up for 0.98 s, twenty seconds after the start."""
    assert pause(0) <= 1
    assert pause(START_S - 1) <= 1
    assert pause(START_S) == EVERY_S
