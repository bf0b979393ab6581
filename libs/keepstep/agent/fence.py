"""When an agent that is cut off must stop its ranks by itself (PROTOCOL section 4)."""

from collections.abc import Sequence
from datetime import timedelta

from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import RankBeat
from keepstep.core.sentences import counted


def fence(beats: Sequence[RankBeat], *, cut_off: timedelta, tasks: int, policy: Policy) -> str:
    """Return why the ranks must be stopped now, or "" when they may run on.

    A gang whose peers were stopped cannot step, so a step on any rank proves that nobody else holds these ranks.
    A job of one task has no peers and is never fenced. ``cut_off`` is how long the bus has not answered.
    """
    after = policy.trainer.self_fence_after
    alive = [beat for beat in beats if beat.exit is None]
    if tasks < 2 or not alive or cut_off < after:
        return ""
    if any(_moves(beat, policy, after) for beat in alive):
        return ""
    still = min(beat.mark_age_s for beat in alive)
    ranks = counted(len(alive), "rank")
    return (
        f"cut off from the bus for {cut_off.total_seconds():.0f} s and none of {ranks} made a step "
        f"for {still:.0f} s, limit {after.total_seconds():.0f} s: their ranks may be given to others"
    )


def _moves(beat: RankBeat, policy: Policy, after: timedelta) -> bool:
    limit = after if beat.phase is Phase.STEP else max(after, policy.detection.limit_of(beat.phase))
    # A rank that never marked cannot show a step: only one that also sits without CPU time counts as still.
    age = beat.mark_age_s if beat.step is not None else min(beat.mark_age_s, beat.idle_s)
    return age < limit.total_seconds()
