"""Has the garbage collector look once at what a service keeps, and not again and again.

A full collection looks at every object there is and holds up all threads meanwhile, also the one that renews the lease.
Of 50,000 pods and their jobs that was a second of a core each time, and on a busy machine longer than the lease; every
page of a listing brought one about, since the collector takes what is only passing through for growth. What a service
keeps holds no cycles as a rule and is freed without a collector.
"""

import gc
from collections.abc import Mapping

FEW = 200_000
"""Objects of which a full collection is 0.2 s of a slow core; less is never set aside."""
GROWN = 2
"""All of it is looked at once more when there is so many times what the last such look left: what was in use when it
was set aside may hold itself since then."""
YOUNG = 10_000
"""Objects more than before that call the collector. Of the usual 700 a message or a page of a listing is many times as
much, and was looked at twice before it was gone."""
FULL = 2
"""The generation of a full collection."""


class Settling:
    """Sets aside what each full collection leaves; a callback of the collector."""

    def __init__(self, *, few: int = FEW) -> None:
        self._few = few
        self._whole, self._kept = True, 0

    def __call__(self, phase: str, told: Mapping[str, int]) -> None:
        """Take in that a collection of a generation begins or is done."""
        if phase == "start" or told["generation"] < FULL:
            return
        gc.freeze()
        aside = gc.get_freeze_count()
        if self._whole:
            self._kept = aside
        self._whole = aside <= self._few or aside > GROWN * self._kept
        if self._whole:
            gc.unfreeze()


def settle() -> None:
    """Have it so from now on; for a process that does nothing else."""
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    gc.callbacks.append(Settling())
