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
    SilenceSuspected,
    StallPassed,
    StallSuspected,
)
from keepstep.contracts.ids import EventId, JobUid, Pool, TaskUid, derive, episode_id
from keepstep.contracts.message import Message
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.telemetry import Heartbeat, RankBeat
from keepstep.detector.core.follow import SILENT
from keepstep.detector.core.hearing import Heard, after, all_ranks, longest_phase, top_step
from keepstep.detector.core.places import NOBODY, Places, apart
from keepstep.detector.core.stall import find_stall
from keepstep.detector.core.state import Ending, Fold, JobFold
from keepstep.detector.core.suspect import HANG
from keepstep.detector.core.suspicions import about, episode, exits

LATE_TICKS = 2
"""A tick this many intervals and a heartbeat after the last one means that this process stood still."""

KEEP_S = 600.0
"""Tasks that no job knows are forgotten after this long."""
SWEEP_S = 60.0
"""Between looks for such tasks."""


class Watch:
    """What was heard since when; every method takes ``now`` in seconds of the monotonic clock."""

    def __init__(self, pool: Pool, now: float, *, every: float, policy: DetectionPolicy) -> None:
        """Start with an empty window; ``policy`` gives the pool's blindness limits and beat interval."""
        self._pool = pool
        self._every = every
        self._policy = policy
        self._since = now
        self._ticked = now
        self._swept = now
        self._heard: dict[TaskUid, Heard] = {}
        """Who was not heard for longest comes first."""
        self._places = Places()
        self._exiting: set[TaskUid] = set()
        """Tasks whose last beat shows a rank that ended."""
        self._silent: dict[TaskUid, int] = {}
        """Tasks called silent, in which generation."""
        self._hung: dict[EventId, float] = {}
        self._blind: EventId | None = None

    def hear(self, beat: Heartbeat, now: float) -> None:
        """Take one heartbeat."""
        uid = beat.task.uid
        self._heard[uid] = after(self._heard.pop(uid, None), beat, now)
        self._places.heard(uid)
        if any(rank.exit is not None for rank in beat.ranks):
            self._exiting.add(uid)
        else:
            self._exiting.discard(uid)

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
        overdue = self._overdue(jobs, now)
        says: list[Message] = []
        says.extend(self._blindness(jobs, overdue, now, at))
        silent, exiting = (self._places.jobs_of(uids) for uids in (self._silent, self._exiting))
        for job in jobs:
            if self._blind is None:
                says.extend(self._silences(job, overdue.get(job.job.uid, NOBODY), now, at))
            if job.job.uid in silent or any(key.startswith(SILENT) for key in job.open):
                says.extend(self._returns(job, now, at))
            if job.job.uid in exiting:
                says.extend(exits(job, self._heard, now, at))
            says.extend(self._stalls(job, now, at))
        return tuple(says)

    def _remember(self, jobs: Sequence[JobFold], now: float) -> None:
        for gone in self._places.follow(jobs, self._heard, now):
            self._silent.pop(gone, None)
        open_now = {entry.id for job in jobs for entry in job.open.values()}
        self._hung = {fault: since for fault, since in self._hung.items() if fault in open_now}
        if now - self._swept > SWEEP_S:
            self._swept = now
            known = self._places.known
            for uid in [u for u, heard in self._heard.items() if u not in known and now - heard.at > KEEP_S]:
                del self._heard[uid]
                self._exiting.discard(uid)

    def _overdue(self, jobs: Sequence[JobFold], now: float) -> Mapping[JobUid, frozenset[TaskUid]]:
        """Return who was not heard almost for the shortest window of any job, by job: nobody else can be silent."""
        shortest = min((job.policy.loss_window.total_seconds() for job in jobs), default=0.0)
        return self._places.overdue(self._heard, before=now - shortest + self._margin)

    @property
    def _margin(self) -> float:
        return 2 * self._policy.heartbeat_every.total_seconds()

    def _unheard_s(self, uid: TaskUid, now: float) -> float:
        heard = self._heard.get(uid)
        return now - max(self._since, self._places.known[uid], heard.at if heard is not None else self._since)

    def _missing_s(self, uid: TaskUid, now: float) -> float:
        """Return the same for a blind detector: a new window of ours is no proof that the agents are back."""
        return now - (self._heard[uid].at if uid in self._heard else self._places.known[uid])

    def _blindness(
        self, jobs: Sequence[JobFold], overdue: Mapping[JobUid, frozenset[TaskUid]], now: float, at: datetime
    ) -> Iterable[Message]:
        """Doubt ourselves before the agents; counts also those a beat short of their window, since all fell at once."""
        left_out = {job.job.uid: apart(job) for job in jobs}
        watched = sum(len(job.tasks) - len(left_out[job.job.uid]) for job in jobs)
        unheard = self._unheard_s if self._blind is None else self._missing_s
        silent = [
            uid
            for job in jobs
            for uid in overdue.get(job.job.uid, NOBODY) - left_out[job.job.uid]
            if unheard(uid, now) > job.policy.loss_window.total_seconds() - self._margin
        ]
        share = len(silent) / watched if watched else 0.0
        blind = len(silent) >= self._policy.blind_minimum and share > self._policy.blind_share
        if blind and self._blind is None:
            self._blind = EventId(derive("blind", self._pool, at.isoformat()))
            yield DetectorBlinded(
                id=self._blind,
                time=at,
                pool=self._pool,
                silent=len(silent),
                total=watched,
                because=f"{len(silent)} of {watched} agents fell silent in one window, more than "
                f"{self._policy.blind_share:.0%}: no silence is called",
            )
        elif not blind and self._blind is not None:
            cause, self._blind = self._blind, None
            self.restart(now)
            yield DetectorSighted(
                id=EventId(derive("sighted", cause)), time=at, pool=self._pool, cause=cause, total=watched
            )

    def _silences(self, job: JobFold, overdue: frozenset[TaskUid], now: float, at: datetime) -> Iterable[Message]:
        window = job.policy.loss_window.total_seconds()
        for uid, view in job.tasks.items() if overdue else ():
            if uid not in overdue:
                continue
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
                **about(job, view, at),
                id=episode("SilenceSuspected", job, key),
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
                yield AgentHeard(**about(job, view, at), id=EventId(derive("AgentHeard", fault)))

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
                **about(job, None, at),
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
                **about(job, None, at),
                id=EventId(derive("StallPassed", fault)),
                ranks=tuple(sorted(rank.rank for rank in live)),
            )
