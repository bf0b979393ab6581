"""The figures of a pool: a fold of its stream into what was counted, how long it took, and what holds now.

A function of the messages alone, so that a replay, a take-over and a second reader come to the same figures; a message
that the stream has twice counts once. Whatever is said, it stays bounded: labels are closed sets, and of jobs, open
incidents, isolations and known ids the oldest make room.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from pydantic import AwareDatetime, Field

from keepstep.contracts import events as e
from keepstep.contracts.ids import IncidentId, JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.policy import IsolationPolicy
from keepstep.core import job_figures
from keepstep.core.beginning import began
from keepstep.core.channels_told import channel_of
from keepstep.core.job_figures import JobFigures
from keepstep.core.spread import Spread
from keepstep.core.stages import stages_of

K = TypeVar("K")
V = TypeVar("V")

JOBS, OPEN, PLACES, IDS, RECENT = 1000, 2000, 5000, 2048, 256
"""Bounds of what is remembered; a pool beyond them is told of less, and nothing grows."""
NEWEST = 64
"""Ids that are written anew with each message; the older ones are kept in pages of so many."""
NO_LEVEL = "none"
Labels = tuple[str, ...]


class OpenIncident(Frozen):
    """An incident that nobody has closed yet."""

    opened: AwareDatetime
    occurred: AwareDatetime
    overdue: bool = False


class Figures(Frozen):
    """The fold. Counters and spreads are by name and then by their labels' values, joined by ``|``."""

    counters: dict[str, dict[str, int]] = Field(default_factory=dict)
    spreads: dict[str, dict[str, Spread]] = Field(default_factory=dict)
    jobs: dict[JobUid, JobFigures] = Field(default_factory=dict)
    limits: dict[JobUid, IsolationPolicy] = Field(default_factory=dict)
    """Isolation policies of jobs that differ from the default."""
    open: dict[IncidentId, OpenIncident] = Field(default_factory=dict)
    isolated: dict[str, bool] = Field(default_factory=dict)
    """Nodes (True) and devices (False) that are kept from jobs."""
    by_rule: tuple[AwareDatetime, ...] = ()
    """When rules isolated something, oldest first."""
    held_at: AwareDatetime | None = None
    """When an isolation was held for a person last."""
    blind: bool = False
    paused: bool = False
    seen: dict[str, None] = Field(default_factory=dict)
    """First digits of the ids of messages counted last."""
    seen_before: tuple[dict[str, None], ...] = ()
    """Those of the ones before them, the oldest page first."""

    def counted(self, name: str, *labels: str, by: int = 1) -> "Figures":
        """Return the figures with a counter higher."""
        known, key = self.counters.get(name, {}), "|".join(labels)
        return self.model_copy(update={"counters": self.counters | {name: known | {key: known.get(key, 0) + by}}})

    def took(self, name: str, *labels: str, seconds: float) -> "Figures":
        """Return the figures with one more duration."""
        known, key = self.spreads.get(name, {}), "|".join(labels)
        added = known.get(key, Spread()) + seconds
        return self.model_copy(update={"spreads": self.spreads | {name: known | {key: added}}})

    def budget_left(self, now: datetime) -> int:
        """Return how many isolations rules may still do before a person is asked, by the strictest job's policy."""
        policies = [IsolationPolicy(), *self.limits.values()]
        return max(
            0, min(one.storm_count - sum(at > now - one.storm_window for at in self.by_rule) for one in policies)
        )

    def held(self, now: datetime) -> bool:
        """Tell whether an isolation was held for a person within the window of the storm."""
        return self.held_at is not None and now < self.held_at + IsolationPolicy().storm_window

    def shown(self, now: datetime) -> dict[JobUid, JobFigures]:
        """Return the jobs that live or have just ended."""
        return {uid: job for uid, job in self.jobs.items() if not job.over(now)}


def tell(figures: Figures, message: Message) -> Figures:
    """Return the figures with one more message; one of an id that was counted lately changes nothing."""
    mark = message.id[:12]
    if mark in figures.seen or any(mark in page for page in figures.seen_before):
        return figures
    figures = figures.model_copy(update=_with_mark(figures, mark))
    return _tell_job(_tell_incident(_tell_nodes(_tell_rest(figures, message), message), message), message)


def _with_mark(figures: Figures, mark: str) -> dict[str, object]:
    if len(figures.seen) < NEWEST:
        return {"seen": {**figures.seen, mark: None}}
    return {"seen": {mark: None}, "seen_before": (*figures.seen_before, figures.seen)[-(IDS // NEWEST) :]}


def _kept(known: Mapping[K, V], key: K, value: V, *, most: int) -> dict[K, V]:
    kept = {**known, key: value}
    while len(kept) > most:
        del kept[next(iter(kept))]
    return kept


def _without(known: Mapping[K, V], gone: Iterable[K]) -> dict[K, V]:
    left = set(gone)
    return {key: value for key, value in known.items() if key not in left}


_REPORTED = {e.DeviceReported: "device", e.NodeReported: "node", e.PublicFaultReported: "public"}
_TRIED = {
    e.NotificationDelivered: "delivered",
    e.NotificationDelayed: "delayed",
    e.NotificationDropped: "dropped",
}


def _tell_rest(figures: Figures, message: Message) -> Figures:
    match message:
        case e.FaultDetected():
            return figures.counted("faults", message.evidence.kind)
        case e.DetectorBlinded() | e.DetectorSighted():
            return figures.model_copy(update={"blind": isinstance(message, e.DetectorBlinded)})
        case e.ActionsPaused() | e.ActionsResumed() if message.job is None:
            return figures.model_copy(update={"paused": isinstance(message, e.ActionsPaused)})
        case e.NotificationDelivered() | e.NotificationDelayed() | e.NotificationDropped():
            known = {key.partition("|")[0] for key in figures.counters.get("notifications", {})}
            return figures.counted("notifications", channel_of(message, known), _TRIED[type(message)])
        case e.DeadLettered():
            return figures.counted("buried", message.service)
        case _:
            return figures


def _tell_nodes(figures: Figures, message: Message) -> Figures:
    match message:
        case e.DeviceReported() | e.NodeReported() | e.PublicFaultReported():
            over = not message.active or (isinstance(message, e.PublicFaultReported) and message.recovered)
            return figures if over else figures.counted("reports", _REPORTED[type(message)])
        case e.NodeIsolated() | e.DeviceIsolated():
            whole = isinstance(message, e.NodeIsolated)
            isolated = _kept(figures.isolated, _place(message), whole, most=PLACES)
            figures = figures.counted("isolations", "node" if whole else "device")
            by_rule = figures.by_rule if message.incident is None else (*figures.by_rule, message.time)[-RECENT:]
            return figures.model_copy(update={"isolated": isolated, "by_rule": by_rule})
        case e.NodeReleased() | e.DeviceReleased():
            return figures.model_copy(update={"isolated": _without(figures.isolated, [_place(message)])})
        case e.IsolationDeclined():
            reason = "held" if message.held else "dry_run" if message.dry_run else "other"
            held = message.time if message.held else figures.held_at
            return figures.counted("declined", reason).model_copy(update={"held_at": held})
        case _:
            return figures


def _place(message: Message) -> str:
    device = getattr(message, "device", None)
    return f"{message.node}" if device is None else f"{message.node}/{device}"


def _tell_incident(figures: Figures, message: Message) -> Figures:
    incident = message.incident
    if incident is None:
        return figures
    match message:
        case e.IncidentOpened():
            known = OpenIncident(opened=message.time, occurred=message.time)
            opened = _kept(figures.open, incident, known, most=OPEN)
            return figures.counted("opened").model_copy(update={"open": opened})
        case e.RecoveryFailed():
            return figures.counted("levels_failed", message.level)
        case e.IncidentClosed():
            return _closed(figures.model_copy(update={"open": _without(figures.open, [incident])}), message)
        case e.FaultDiagnosed() | e.IncidentOverdue() if incident in figures.open:
            known = _known_better(figures.open[incident], message)
            return figures.model_copy(update={"open": figures.open | {incident: known}})
        case _:
            return figures


def _known_better(known: OpenIncident, message: e.FaultDiagnosed | e.IncidentOverdue) -> OpenIncident:
    if isinstance(message, e.IncidentOverdue):
        return known.model_copy(update={"overdue": True})
    return known.model_copy(update={"occurred": began(message, known.occurred)})


def _closed(figures: Figures, message: e.IncidentClosed) -> Figures:
    level = message.levels[-1] if message.levels else NO_LEVEL
    figures = figures.counted("closed", message.category, level, message.outcome)
    if (accounts := message.accounts) is None:
        return figures
    for stage in stages_of(accounts):
        figures = figures.took("stage", stage.name, seconds=stage.seconds)
    figures = figures.took("recovery", level, seconds=accounts.wall_s)
    return figures.counted("lost_steps", by=accounts.lost_steps) if accounts.lost_steps else figures


_ENDINGS = {"JobSucceeded": "succeeded", "JobFailed": "failed", "JobStopRequested": "stopped", "JobDeleted": "stopped"}


def _tell_job(figures: Figures, message: Message) -> Figures:
    """Take in what the message says of its job; jobs that ended a while ago make room first."""
    if message.job is None:
        return figures
    uid, known = message.job.uid, figures.jobs.get(message.job.uid)
    if isinstance(message, e.JobAccepted) and (known is None or known.run.ended is not None):
        return _accepted(figures, message, uid)
    if known is None:
        return figures
    if isinstance(message, e.CheckpointCommitted):
        figures = _committed(figures, known, message)
    if (ending := _ENDINGS.get(type(message).__name__)) is not None and known.run.ended is None:
        figures = figures.counted("ended", ending)
    return figures.model_copy(update={"jobs": figures.jobs | {uid: job_figures.tell(known, message)}})


def _accepted(figures: Figures, message: e.JobAccepted, uid: JobUid) -> Figures:
    job = job_figures.begun(message, message.job.name if message.job is not None else "")
    jobs = {known: one for known, one in figures.jobs.items() if known != uid and not one.over(message.time)}
    jobs = _kept(jobs, uid, job, most=JOBS)
    policy = message.spec.policy.isolation
    limits = figures.limits if policy == IsolationPolicy() else figures.limits | {uid: policy}
    update = {"jobs": jobs, "limits": {known: one for known, one in limits.items() if known in jobs}}
    return figures.counted("accepted").model_copy(update=update)


def _committed(figures: Figures, job: JobFigures, message: e.CheckpointCommitted) -> Figures:
    figures, saved = figures.counted("checkpoints"), job.saving.whole(message)
    if saved.save_s is not None:
        figures = figures.took("save", seconds=saved.save_s)
    return figures if saved.commit_s is None else figures.took("commit", seconds=saved.commit_s)


def heard() -> tuple[type[Message], ...]:
    """Return the messages that change a figure; the stream's others need not be read."""
    return (
        e.ActionsPaused, e.ActionsResumed, e.CheckpointCommitted, e.CheckpointSaved, e.DeadLettered,
        e.DetectorBlinded, e.DetectorSighted, e.DeviceIsolated, e.DeviceReleased, e.DeviceReported, e.FaultDetected,
        e.FaultDiagnosed, e.FirstStepDone, e.IncidentClosed, e.IncidentOpened, e.IncidentOverdue, e.IsolationDeclined,
        e.JobAccepted, e.JobDeleted, e.JobFailed, e.JobResumed, e.JobStarted, e.JobStopRequested, e.JobSucceeded,
        e.NodeIsolated, e.NodeReleased, e.NodeReported, e.NotificationDelayed, e.NotificationDelivered,
        e.NotificationDropped, e.PublicFaultReported, e.RankExited, e.RecoveryFailed,
    )  # fmt: skip
