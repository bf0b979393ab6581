"""Positive evidence of a stall from a process's state alone, counted in episodes (PROTOCOL sections 1 and 6)."""

from collections.abc import Mapping
from datetime import timedelta

from pydantic import Field

from keepstep.contracts.model import Frozen
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import StallSign


class Episode(Frozen):
    """The stalls of one rank in one generation: how many there were, and whether the last one is still on."""

    count: int = 0
    told: bool = False


class Episodes(Frozen):
    """All local ranks' stalls, kept over agent restarts so that a stall is said once."""

    generation: int = 0
    ranks: dict[int, Episode] = Field(default_factory=dict)

    def of(self, rank: int) -> Episode:
        """Return the rank's episodes, none at first."""
        return self.ranks.get(rank, Episode())


class Stalled(Frozen):
    """A stall began to count as one."""

    rank: int
    episode: int
    sign: StallSign
    state: str
    lasted_s: float


class Recovered(Frozen):
    """A stall that counted as one ended by itself."""

    rank: int
    episode: int


Change = Stalled | Recovered


class StateSince(Frozen):
    """A process state letter and for how long it was seen without a break."""

    state: str
    lasted: timedelta


def judge(
    kept: Episodes, generation: int, states: Mapping[int, StateSince], policy: DetectionPolicy
) -> tuple[Episodes, tuple[Change, ...]]:
    """Return the next episodes and what changed; a new generation counts from the start."""
    if kept.generation != generation:
        kept = Episodes(generation=generation)
    ranks, changes = dict(kept.ranks), []
    for rank, seen in sorted(states.items()):
        episode, change = _judge_rank(rank, kept.of(rank), seen, policy)
        if change is not None:
            ranks[rank] = episode
            changes.append(change)
    return (Episodes(generation=generation, ranks=ranks) if changes else kept), tuple(changes)


def sign_of(seen: StateSince, policy: DetectionPolicy) -> StallSign | None:
    """Return what the state proves, or None: R and S prove nothing, and ``t`` is a debugger at work."""
    match seen.state:
        case "T" if seen.lasted >= policy.stopped_after:
            return StallSign.STOPPED
        case "Z" if seen.lasted >= policy.stopped_after:
            return StallSign.DEFUNCT
        case "D" if seen.lasted >= policy.uninterruptible_after:
            return StallSign.UNINTERRUPTIBLE
        case _:
            return None


def _judge_rank(
    rank: int, episode: Episode, seen: StateSince, policy: DetectionPolicy
) -> tuple[Episode, Change | None]:
    sign = sign_of(seen, policy)
    if sign is not None and not episode.told:
        begun = Episode(count=episode.count + 1, told=True)
        lasted = seen.lasted.total_seconds()
        change = Stalled(rank=rank, episode=begun.count, sign=sign, state=seen.state, lasted_s=lasted)
        return begun, change
    if episode.told and seen.state in "RSI":
        over = Episode(count=episode.count, told=False)
        return over, Recovered(rank=rank, episode=episode.count)
    return episode, None
