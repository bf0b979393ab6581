"""When a job that is alive does not step (PROTOCOL section 6): pure rules over all ranks at one moment."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstep.contracts.events import StallEvidence
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import Phase, StallSign
from keepstep.contracts.telemetry import RankBeat
from keepstep.core.sentences import counted

SLOW_STEPS = 10
"""A rank this many median steps without a mark is out of its rhythm, not in a slow step."""


@dataclass(frozen=True)
class Stall:
    """Who is to blame, or one rank of all when nobody is, and why with the numbers."""

    stalls: tuple[StallEvidence, ...]
    because: str


def find_stall(ranks: Sequence[RankBeat], *, policy: DetectionPolicy, marks: bool) -> Stall | None:
    """Return the job's stall, or None.

    ``ranks`` are all ranks of the current generation. ``marks``: the job was seen to step in its life. A rank inside a
    phase that may take long excuses everybody: its peers wait for it.
    """
    live = [rank for rank in ranks if rank.exit is None]
    if not policy.hang_detection or not live or any(_is_excused(rank, policy) for rank in live):
        return None
    if not all(_is_known_to_mark(rank, marks=marks, policy=policy) for rank in live):
        return None
    return _outlier(live, policy) or _left_behind(live, policy) or _no_progress(live, policy)


def limit_s(rank: RankBeat, policy: DetectionPolicy) -> float:
    """Return how many seconds the rank may go without a mark; before its second step it is still starting."""
    limit = policy.limit_of(rank.phase)
    if rank.phase is Phase.STEP and rank.step_s is None:
        limit = max(limit, policy.limit_of(Phase.STARTING))
    return limit.total_seconds()


def _is_excused(rank: RankBeat, policy: DetectionPolicy) -> bool:
    return (rank.phase is not Phase.STEP or rank.step_s is None) and rank.mark_age_s < limit_s(rank, policy)


def _is_known_to_mark(rank: RankBeat, *, marks: bool, policy: DetectionPolicy) -> bool:
    """Tell whether the absence of marks says anything about this rank.

    A loop without the hook never marks, and one that imported torch may never make an optimizer step: it is judged
    only once it used no CPU time for the whole start-up tolerance either.
    """
    if marks or rank.step_s is not None or rank.phase is not Phase.STARTING:
        return True
    return rank.uses_torch and rank.idle_s >= limit_s(rank, policy)


def _outlier(live: Sequence[RankBeat], policy: DetectionPolicy) -> Stall | None:
    """Return the ranks that stand still outside a collective while all the others wait in one."""
    after = policy.outlier_after.total_seconds()
    if any(rank.phase is not Phase.STEP or rank.step_s is None for rank in live):
        return None
    quiet = max(after, SLOW_STEPS * max(rank.step_s or 0.0 for rank in live))
    if any(rank.mark_age_s < quiet for rank in live):
        return None
    stuck = [rank for rank in live if rank.waiting is False and min(rank.idle_s, rank.stack_still_s) >= after]
    waiting = [rank for rank in live if rank.waiting is True]
    if not stuck or len(stuck) + len(waiting) != len(live) or not _is_minority(stuck, live):
        return None
    named = ", ".join(str(rank.rank) for rank in stuck)
    because = (
        f"rank {named} used no CPU time and stands still for {min(rank.idle_s for rank in stuck):.0f} s while "
        f"a collective keeps {counted(len(waiting), 'other')} waiting; limit {after:.0f} s"
    )
    return Stall(tuple(_evidence(rank, StallSign.OUTLIER) for rank in stuck), because)


def _left_behind(live: Sequence[RankBeat], policy: DetectionPolicy) -> Stall | None:
    """Return the ranks past their limit while all others step: in a loop without collectives nobody waits for them."""
    late = [rank for rank in live if rank.mark_age_s >= limit_s(rank, policy)]
    stuck = [rank for rank in late if rank.waiting is False and rank.step_s is not None]
    if not stuck or len(stuck) != len(late) or not _is_minority(stuck, live):
        return None
    named, stepping = ", ".join(str(rank.rank) for rank in stuck), len(live) - len(stuck)
    because = (
        f"rank {named} made no step for {min(rank.mark_age_s for rank in stuck):.1f} s while"
        f" {counted(stepping, 'other')} stepped; limit {limit_s(stuck[0], policy):g} s"
    )
    return Stall(tuple(_evidence(rank, StallSign.NO_PROGRESS) for rank in stuck), because)


def _no_progress(live: Sequence[RankBeat], policy: DetectionPolicy) -> Stall | None:
    """Return a stall when every rank is past the limit of its phase, blaming those that do not wait for others."""
    if any(rank.mark_age_s < limit_s(rank, policy) for rank in live):
        return None
    youngest, limit = min(rank.mark_age_s for rank in live), limit_s(live[0], policy)
    if len(live) == 1 and live[0].waiting is False:
        because = f"rank {live[0].rank} made no step for {youngest:.1f} s and no other rank runs; limit {limit:g} s"
        return Stall((_evidence(live[0], StallSign.NO_PROGRESS),), because)
    because = f"none of {counted(len(live), 'rank')} made a step for {youngest:.1f} s; limit {limit:g} s"
    busy = [rank for rank in live if rank.waiting is False]
    others_wait = all(rank.waiting is True for rank in live if rank not in busy)
    if busy and others_wait and _is_minority(busy, live):
        named = ", ".join(str(rank.rank) for rank in busy)
        stalls = tuple(_evidence(rank, StallSign.NO_PROGRESS) for rank in busy)
        return Stall(stalls, f"{because}; only rank {named} is not waiting in a collective")
    first = min(live, key=lambda rank: (-rank.mark_age_s, rank.rank))
    return Stall((_evidence(first, StallSign.NO_PROGRESS).model_copy(update={"waiting": None}),), because)


def _is_minority(some: Sequence[RankBeat], live: Sequence[RankBeat]) -> bool:
    """Tell whether these are few enough to blame; of two ranks one is, when the other waits."""
    return 2 * len(some) < len(live) or (len(live) == 2 and len(some) == 1)


def _evidence(rank: RankBeat, sign: StallSign) -> StallEvidence:
    return StallEvidence(
        rank=rank.rank,
        sign=sign,
        step=rank.step,
        phase=rank.phase,
        stalled_s=rank.mark_age_s,
        stack=rank.stack,
        waiting=rank.waiting,
    )
