"""How long a checkpoint took to save: by which of their saves the ranks wrote its files, told by times alone."""

from collections.abc import Collection, Iterable, Sequence

from keepstep.agent.first_step import NANO
from keepstep.trainer.progress import Save

GRAIN_S = 0.05
"""File systems stamp files with a clock of 4 to 10 ms, and servers with one of their own, a little beside ours."""


def save_seconds(ranks: Iterable[Sequence[Save]], modified: Collection[float]) -> float | None:
    """Return the seconds of the slowest rank from its first call that wrote one of the files to the end of its last.

    ``modified`` are the files' modification times, in seconds of the ranks' clock. None where no rank told of a save
    in which one of them was written: a script that saves by other means than torch and ``trainer.phase``.
    """
    took = [seconds for saves in ranks if (seconds := _span(saves, modified)) is not None]
    return max(took, default=None)


def _span(saves: Sequence[Save], modified: Collection[float]) -> float | None:
    wrote = [
        (began, ended)
        for began, ended in ((save.began_ns / NANO, save.ended_ns / NANO) for save in saves)
        if any(began - GRAIN_S <= at <= ended + GRAIN_S for at in modified)
    ]
    if not wrote:
        return None
    return max(ended for _, ended in wrote) - min(began for began, _ in wrote)
