"""The ranks of a job as cells: a colour and a sign for each state, so that either alone tells it."""

from collections import Counter
from collections.abc import Sequence

from keepstep.console.views import RankState, RankView

SIGNS: dict[RankState, str] = {
    RankState.STEPPING: "▸",
    RankState.BUSY: "◔",
    RankState.STALLED: "‖",
    RankState.EXITED: "✕",
    RankState.SILENT: "?",
    RankState.ENDED: "■",
}


def tally(grid: Sequence[RankView]) -> tuple[tuple[RankState, str, int], ...]:
    """Return each state that a rank is in, its sign, and how many are, in the order of ``RankState``."""
    counts = Counter(rank.state for rank in grid)
    return tuple((state, SIGNS[state], counts[state]) for state in RankState if counts[state])
