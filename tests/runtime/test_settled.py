"""A full collection looks once at what a service keeps; a burst is no reason to look at 50,000 pods again."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from keepstep.runtime import log
from keepstep.runtime.app import App
from keepstep.runtime.service import main
from keepstep.runtime.settings import Settings
from keepstep.runtime.settled import Settling


class Knot:
    """Something that holds itself."""

    def __init__(self) -> None:
        self.itself = self


def kept(count: int) -> list[list[int]]:
    """Return so many objects that the collector looks at."""
    return [[number] for number in range(count)]


def looked_at(thing: object) -> bool:
    """Tell whether a full collection looks at a thing."""
    return any(thing is one for one in gc.get_objects())


@pytest.fixture
def settling() -> Iterator[None]:
    """Set aside from 1,000 objects on, and leave the collector to the other tests as it was."""
    callback = Settling(few=1_000)
    gc.callbacks.append(callback)
    yield
    gc.callbacks.remove(callback)
    gc.unfreeze()


@pytest.mark.usefixtures("settling")
def test_what_is_kept_is_looked_at_once_and_garbage_goes() -> None:
    pods, knot = kept(2_000), Knot()
    gone = weakref.ref(knot)
    del knot
    gc.collect()
    assert gone() is None
    assert not looked_at(pods[0])
    later = Knot()
    gone = weakref.ref(later)
    del later
    gc.collect()
    assert gone() is None, "what came later is collected as ever"


@pytest.mark.usefixtures("settling")
def test_what_held_itself_when_it_was_set_aside_goes_once_as_much_again_is_kept() -> None:
    knot = Knot()
    gone = weakref.ref(knot)
    gc.collect()
    before = gc.get_freeze_count()
    del knot
    gc.collect()
    assert gone() is not None, "it is not looked at"
    more = kept(before + 1_000)
    gc.collect()
    gc.collect()
    assert gone() is None
    assert not looked_at(more[0])


def test_a_small_process_is_collected_as_ever() -> None:
    callback, thing = Settling(few=100_000_000), kept(1)
    gc.callbacks.append(callback)
    try:
        gc.collect()
        assert gc.get_freeze_count() == 0
        assert looked_at(thing)
    finally:
        gc.callbacks.remove(callback)


def test_a_service_with_a_process_of_its_own_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    before, callbacks = gc.get_threshold(), list(gc.callbacks)
    monkeypatch.setattr(log, "configure", lambda: None)

    def build(_settings: Settings) -> App[Any]:
        raise RuntimeError(f"{sum(isinstance(one, Settling) for one in gc.callbacks)} settling")

    try:
        with pytest.raises(RuntimeError, match="1 settling"):
            main(build)
        assert gc.get_threshold() > before
    finally:
        gc.callbacks[:] = callbacks
        gc.set_threshold(*before)
