"""What enters the training image: standard library only, Python 3.8 or later, nothing of keepstep around it.

A script that wants to say its steps itself calls ``step(n)`` when step n is complete, and wraps long work in
``with phase("evaluation"):``. Both do nothing when the script runs outside keepstep.
"""

from __future__ import annotations

import contextlib
from typing import Iterator

from keepstep.trainer import mark as _mark
from keepstep.trainer.progress import Phase

__all__ = ["marker", "phase", "step"]

_markers: list[_mark.Marker | None] = []
"""Empty until the first call; then the one marker of this process, or None outside keepstep."""


def marker() -> _mark.Marker | None:
    """Return the marker of this process, attached at the first call; None outside keepstep."""
    if not _markers:
        _markers.append(_mark.attach())
    return _markers[0]


def step(number: int, loss: float | None = None) -> None:
    """Say that training step ``number`` is complete; overrules what the torch hook counts.

    ``loss`` is for people who watch. Give it where it is a number: to make one of a tensor waits for the device.
    """
    here = _markers[0] if _markers else marker()
    if here is not None:
        here.tell(number, loss)


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Say that the block is ``init``, ``load``, ``compile``, ``evaluation`` or ``checkpoint``; ValueError otherwise."""
    try:
        entered = Phase(name)
    except ValueError:
        raise ValueError("%r is no phase; known are %s" % (name, ", ".join(Phase))) from None
    here = marker()
    if here is None:
        yield
        return
    before = here.enter(entered)
    try:
        yield
    finally:
        here.leave(before)
