"""The watch over heartbeats: in memory only, on the receiver's monotonic clock, and itself under suspicion.

What it finds is said as an event to the detector's own fold, which decides. A window starts anew after an outage or a
late tick of our own: then it was us who did not listen.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from keepstep.contracts.events import (
    AgentHeard,
    DetectorBlinded,
    DetectorSighted,
    ExitSuspected,
    SilenceSuspected,
    StallPassed,
    StallSuspected,
)
from keepstep.contracts.ids import EventId, Pool, TaskUid, derive, episode_id
from keepstep.contracts.message import Message
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.telemetry import Heartbeat, RankBeat
from keepstep.core.placement import Seat
from keepstep.detector.core.follow import SILENT
from keepstep.detector.core.hearing import Heard, after, all_ranks, longest_phase, top_step, unreported
from keepstep.detector.core.stall import find_stall
from keepstep.detector.core.state import Ending, Fold, JobFold
from keepstep.detector.core.suspect import HANG

LATE_TICKS = 2
"""A tick this many intervals and a heartbeat after the last one means that this process stood still."""

KEEP_S = 600.0
"""Tasks that no job knows are forgotten after this long."""


class Watch:
    """What was heard since when; every method takes ``now`` in seconds of the monotonic clock."""

    def __init__(self, pool: Pool, now: float, *, every: float, policy: DetectionPolicy) -> None:
        """Start with an empty window; ``policy`` gives the pool's blindness limits and beat interval."""
        self._pool = pool
        self._every = every
        self._policy = policy
        self._since = now
        self._ticked = now
        self._heard: dict[TaskUid, Heard] = {}
        self._known: dict[TaskUid, float] = {}
        self._silent: dict[TaskUid, int] = {}
        """Tasks called silent, in which generation."""
        self._hung: dict[EventId, float] = {}
        self._blind: EventId | None = None

    def hear(self, beat: Heartbeat, now: float) -> None:
        """Take one heartbeat."""
        self._heard[beat.task.uid] = after(self._heard.get(beat.task.uid), beat, now)

    def restart(self, now: float) -> None:
        """Begin a new window: nobody is silent before it is over."""
        self._since = now
        for heard in self._heard.values():
            heard.exits = dict.fromkeys(heard.exits, now)

    def tick(self, folds: Mapping[str, Fold], now: float, at: datetime) -> tuple[Message, ...]:
        """Return what is to be said at this moment; ``at`` is the same moment as an instant."""
        if now - self._ticked > LATE_TICKS * self._every + self._policy.heartbeat_every.total_seconds():
            self.restart(now)
        self._ticked = now
        jobs = [fold.of for _, fold in sorted(folds.items()) if isinstance(fold.of, JobFold) and not fold.of.ended]
        self._remember(jobs, now)
        says: list[Message] = []
        says.extend(self._blindness(jobs, now, at))
        for job in jobs:
            if self._blind is None:
                says.extend(self._silences(job, now, at))
            says.extend(self._returns(job, now, at))
            says.extend(_exits(job, self._heard, now, at))
            says.extend(self._stalls(job, now, at))
        return tuple(says)

    def _remember(self, jobs: Sequence[JobFold], now: float) -> None:
        current = {uid for job in jobs for uid in job.tasks}
        self._known = {uid: self._known.get(uid, now) for uid in current}
        self._silent = {uid: generation for uid, generation in self._silent.items() if uid in current}
        open_now = {entry.id for job in jobs for entry in job.open.values()}
        self._hung = {fault: since for fault, since in self._hung.items() if fault in open_now}
        forgotten = [u for u, heard in self._heard.items() if u not in current and now - heard.at > KEEP_S]
        for uid in forgotten:
            del self._heard[uid]

    def _unheard_s(self, uid: TaskUid, now: float) -> float:
        heard = self._heard.get(uid)
        return now - max(self._since, self._known[uid], heard.at if heard is not None else self._since)

    def _missing_s(self, uid: TaskUid, now: float) -> float:
        """Return the same for a blind detector: a new window of ours is no proof that the agents are back."""
        return now - (self._heard[uid].at if uid in self._heard else self._known[uid])

    def _blindness(self, jobs: Sequence[JobFold], now: float, at: datetime) -> Iterable[Message]:
        """Doubt ourselves before the agents; counts also those a beat short of their window, since all fell at once."""
        margin = 2 * self._policy.heartbeat_every.total_seconds()
        watched = [
            (uid, job) for job in jobs for uid in job.tasks if uid not in job.lost and SILENT + uid not in job.open
        ]
        unheard = self._unheard_s if self._blind is None else self._missing_s
        silent = [u for u, job in watched if unheard(u, now) > job.policy.loss_window.total_seconds() - margin]
        share = len(silent) / len(watched) if watched else 0.0
        blind = len(silent) >= self._policy.blind_minimum and share > self._policy.blind_share
        if blind and self._blind is None:
            self._blind = EventId(derive("blind", self._pool, at.isoformat()))
            yield DetectorBlinded(
                id=self._blind,
                time=at,
                pool=self._pool,
                silent=len(silent),
                total=len(watched),
                because=f"{len(silent)} of {len(watched)} agents fell silent in one window, more than "
                f"{self._policy.blind_share:.0%}: no silence is called",
            )
        elif not blind and self._blind is not None:
            cause, self._blind = self._blind, None
            self.restart(now)
            yield DetectorSighted(
                id=EventId(derive("sighted", cause)), time=at, pool=self._pool, cause=cause, total=len(watched)
            )

    def _silences(self, job: JobFold, now: float, at: datetime) -> Iterable[Message]:
        window = job.policy.loss_window.total_seconds()
        for uid, view in job.tasks.items():
            silent_s = self._unheard_s(uid, now)
            key = SILENT + uid
            called = self._silent.get(uid) == job.generation or key in job.open
            if silent_s <= window or called or uid in job.lost:
                continue
            if self._steps_without(job, uid, now - silent_s + window / 2):
                continue
            self._silent[uid] = job.generation
            step = top_step(self._heard[uid].beat) if uid in self._heard else -1
            yield SilenceSuspected(
                **_about(job, view, at),
                id=_episode("SilenceSuspected", job, key),
                silent_s=silent_s,
                last_step=step if step >= 0 else None,
                phase=longest_phase(self._heard[uid].beat, job.policy) if uid in self._heard else None,
            )

    def _steps_without(self, job: JobFold, uid: TaskUid, since: float) -> bool:
        """Tell whether peers stepped long after this agent was last heard: a gang steps together, so its ranks live."""
        others = (self._heard[other] for other in job.tasks if other != uid and other in self._heard)
        return any(heard.stepped_at is not None and heard.stepped_at > since for heard in others)

    def _returns(self, job: JobFold, now: float, at: datetime) -> Iterable[Message]:
        window = job.policy.loss_window.total_seconds()
        for uid, view in job.tasks.items():
            heard = self._heard.get(uid)
            if heard is None or now - heard.at > window:
                continue
            self._silent.pop(uid, None)
            if SILENT + uid in job.open:
                fault = job.open[SILENT + uid].id
                yield AgentHeard(**_about(job, view, at), id=EventId(derive("AgentHeard", fault)))

    def _stalls(self, job: JobFold, now: float, at: datetime) -> Iterable[Message]:
        ranks = all_ranks(job, self._heard, now)
        if ranks is None or Ending.FAILED in job.endings.values() or Ending.ORDERED in job.endings.values():
            return
        hung = [key for key in job.open if key.startswith(HANG)]
        if hung:
            yield from self._passed(job, hung, ranks, now, at)
            return
        if any(key.startswith("stall/") for key in job.open):
            return
        stall = find_stall(ranks, policy=job.policy, marks=job.marks)
        if stall is not None:
            named = ",".join(str(evidence.rank) for evidence in stall.stalls)
            episode = sum(count for key, count in job.episodes.items() if key.startswith(HANG)) + 1
            yield StallSuspected(
                **_about(job, None, at),
                id=episode_id("StallSuspected", f"{job.job.uid}/{named}", job.generation, episode=episode),
                stalls=stall.stalls,
                because=stall.because,
            )

    def _passed(
        self, job: JobFold, hung: Sequence[str], ranks: Sequence[RankBeat], now: float, at: datetime
    ) -> Iterable[Message]:
        fault = job.open[hung[0]].id
        since = self._hung.setdefault(fault, now)
        live = [rank for rank in ranks if rank.exit is None]
        if live and all(rank.mark_age_s < now - since for rank in live):
            self._hung.pop(fault)
            yield StallPassed(
                **_about(job, None, at),
                id=EventId(derive("StallPassed", fault)),
                ranks=tuple(sorted(rank.rank for rank in live)),
            )


def _exits(job: JobFold, heard: Mapping[TaskUid, Heard], now: float, at: datetime) -> Iterable[Message]:
    for uid, view, rank in unreported(job, heard, now):
        if rank.exit is not None:
            yield ExitSuspected(
                **_about(job, view, at),
                id=_episode("ExitSuspected", job, f"exit/{uid}/{rank.rank}"),
                rank=rank.rank,
                exit=rank.exit,
                step=rank.step,
                phase=rank.phase,
            )


def _episode(kind: str, job: JobFold, key: str) -> EventId:
    return episode_id(kind, f"{job.job.uid}/{key}", job.generation, episode=job.episodes.get(key, 0) + 1)


def _about(job: JobFold, view: Seat | None, at: datetime) -> dict[str, object]:
    return {
        "time": at,
        "pool": job.pool,
        "job": job.job,
        "task": view.ref.uid if view is not None else None,
        "node": view.node if view is not None else None,
        "generation": job.generation,
    }
