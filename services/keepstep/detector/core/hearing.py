"""What one task's heartbeats add up to, and what all tasks of a job show together at one moment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from keepstep.contracts.ids import TaskUid
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import Heartbeat, RankBeat
from keepstep.core.placement import Seat
from keepstep.detector.core.state import JobFold

EXIT_PATIENCE_S = 2.0
"""An agent reports an exit within milliseconds; this long covers its restart."""

FRESH_BEATS = 3
"""A beat older than this many intervals tells nothing about now."""


@dataclass
class Heard:
    """The last beat of a task, when it came, and when its ranks were last seen to advance; seconds, monotonic."""

    beat: Heartbeat
    at: float
    stepped_at: float | None = None
    pids: dict[int, int] = field(default_factory=dict)
    """The generation in which a process was first seen: ranks being stopped are not of the next one."""
    exits: dict[int, float] = field(default_factory=dict)
    """When a rank's exit was first seen."""


def after(last: Heard | None, beat: Heartbeat, now: float) -> Heard:
    """Return what is known once this beat was heard too."""
    heard = Heard(beat, now, pids=dict.fromkeys((rank.pid for rank in beat.ranks), beat.generation))
    if last is not None:
        heard.pids |= {pid: generation for pid, generation in last.pids.items() if pid in heard.pids}
        if last.beat.generation == beat.generation:
            heard.stepped_at = now if top_step(beat) > top_step(last.beat) else last.stepped_at
            heard.exits = last.exits
    for rank in beat.ranks:
        if rank.exit is not None:
            heard.exits.setdefault(rank.rank, now)
    return heard


def top_step(beat: Heartbeat) -> int:
    """Return the furthest step of the task's ranks, -1 before the first."""
    return max((rank.step for rank in beat.ranks if rank.step is not None), default=-1)


def longest_phase(beat: Heartbeat, policy: DetectionPolicy) -> Phase | None:
    """Return the phase of the living rank that may go longest without a mark, None without one."""
    phases = [rank.phase for rank in beat.ranks if rank.exit is None]
    return max(phases, key=policy.limit_of, default=None)


def unreported(job: JobFold, heard: Mapping[TaskUid, Heard], now: float) -> Iterable[tuple[TaskUid, Seat, RankBeat]]:
    """Yield the failed exits that heartbeats show longer than a report can take, and the fold does not know."""
    for uid, view in job.tasks.items():
        last = heard.get(uid)
        if last is None or last.beat.generation != job.generation:
            continue
        for rank in last.beat.ranks:
            if rank.exit is None or rank.exit.code == 0 or rank.rank in job.endings:
                continue
            waited = now - last.exits.get(rank.rank, now)
            if last.pids.get(rank.pid) == job.generation and waited > EXIT_PATIENCE_S:
                yield uid, view, rank


def all_ranks(job: JobFold, heard: Mapping[TaskUid, Heard], now: float) -> tuple[RankBeat, ...] | None:
    """Return every rank of the generation, or None unless all agents were heard just now and agree on it."""
    fresh = FRESH_BEATS * job.policy.heartbeat_every.total_seconds()
    ranks: list[RankBeat] = []
    for uid, view in job.tasks.items():
        last = heard.get(uid)
        if last is None or now - last.at > fresh or last.beat.generation != job.generation:
            return None
        if len(last.beat.ranks) < len(view.ranks):
            return None
        ranks.extend(last.beat.ranks)
    return tuple(ranks) or None
