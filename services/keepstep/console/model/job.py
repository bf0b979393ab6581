"""One job with what the console shows beside its state: tolerance events, steps over time, ranks, figures."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from keepstep.console.model.severity import severity_of
from keepstep.console.model.sums import Sums
from keepstep.console.views import RankState, RankView, StepPoint, ToleranceEvent
from keepstep.contracts import events as e
from keepstep.contracts.ids import TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Phase
from keepstep.contracts.telemetry import Heartbeat, RankBeat
from keepstep.contracts.topology import JobRef
from keepstep.core.known_job import KnownJob
from keepstep.core.saving import Saved, Saving
from keepstep.core.sentences import sentence

TOLERANCE_KEPT = 200
"""Lines of a job's event list; Kubernetes shows as many as its etcd keeps for an hour."""
POINTS_KEPT = 240
"""Points of a sparkline: one for each pixel or two that it is drawn with."""
RANKS_SHOWN = 4096
SILENT_AFTER = timedelta(seconds=10)
"""As long as the detector's own loss window."""
TOLERANCE: tuple[type[Message], ...] = (
    e.FaultDetected,
    e.FaultCleared,
    e.FaultDiagnosed,
    e.IncidentOverdue,
    e.IncidentAcknowledged,
    e.NodeIsolated,
    e.DeviceIsolated,
    e.IsolationDeclined,
    e.CheckpointChosen,
    e.TaskLost,
    e.RecoveryPlanned,
    e.RestartFailed,
    e.RecoveryFailed,
    e.RanksStarted,
    e.JobWaiting,
    e.JobResumed,
    e.JobFailed,
    e.JobStopRequested,
    e.IncidentClosed,
    e.ActionsPaused,
    e.ActionsResumed,
)
"""What the fault-tolerance event list of a job holds."""


@dataclass
class KeptJob:
    """One job."""

    known: KnownJob
    tolerance: OrderedDict[tuple[str, str], ToleranceEvent] = field(default_factory=OrderedDict)
    tolerance_total: int = 0
    points: list[StepPoint] = field(default_factory=list)
    every: timedelta = timedelta(seconds=1)
    """Between two points; doubles each time that every other one is dropped."""
    heard: dict[TaskUid, datetime] = field(default_factory=dict)
    """When a task's heartbeat came last, by the clock of who listens."""
    exits: dict[int, e.RankExited] = field(default_factory=dict)
    """Of ranks of the generation that runs."""
    stalled: set[int] = field(default_factory=set)
    """Ranks that a fault called so, until their generation ends or they go on."""
    warnings: tuple[str, ...] = ()
    sums: Sums = field(default_factory=Sums)
    saving: Saving = field(default_factory=Saving)
    checkpoint: Saved | None = None
    """The one that was whole last."""
    faults: int = 0
    last_fault: datetime | None = None

    @property
    def ref(self) -> JobRef:
        """Which job it is."""
        return self.known.ref

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs or will run."""
        return self.known.ended

    def hear(self, message: Message) -> None:
        """Take in one of its messages."""
        self.known.hear(message)
        if isinstance(message, TOLERANCE):
            self._tolerate(message)
        self._advance(message)
        match message:
            case e.JobAccepted():
                self.warnings = message.warnings
            case e.RankExited() if message.generation == self.known.view.generation:
                self.exits[message.rank] = message
            case e.RankStalled():
                self.stalled.add(message.rank)
            case e.FaultDetected(evidence=e.StallEvidence() as stall):
                self.stalled.add(stall.rank)
            case e.RankRecovered():
                self.stalled.discard(message.rank)
            case e.StallPassed():
                self.stalled.difference_update(message.ranks)
            case e.RecoveryStarted() | e.RanksStarted():
                self.stalled.clear()
                self.exits.clear()
                self.heard.clear()
            case _:
                return

    def _advance(self, message: Message) -> None:
        """Take in how far it got, and what of it is saved."""
        match message:
            case e.FirstStepDone() | e.JobResumed() | e.JobSucceeded():
                self._point(message.time, message.step)
            case e.CheckpointSaved():
                self.saving = self.saving.found(message)
            case e.CheckpointCommitted():
                self.checkpoint, self.saving = self.saving.whole(message), self.saving.without(message.step)
                self._point(message.time, message.step)
            case _:
                return

    def _tolerate(self, message: Message) -> None:
        self.tolerance_total += 1
        severity, text = severity_of(message), sentence(message)[:2000]
        key = (type(message).__name__, text)
        line = self.tolerance.get(key)
        if line is None:
            line = ToleranceEvent(
                reason=key[0], message=text, severity=severity, first=message.time, last=message.time, count=1,
                incident=message.incident,
            )  # fmt: skip
        else:
            again = {"last": message.time, "count": line.count + 1, "incident": message.incident or line.incident}
            line = line.model_copy(update=again)
        self.tolerance[key] = line
        self.tolerance.move_to_end(key)
        while len(self.tolerance) > TOLERANCE_KEPT:
            self.tolerance.popitem(last=False)

    def feel(self, beat: Heartbeat, now: datetime) -> None:
        """Take in a heartbeat that came now."""
        if self.known.view.hold(beat):
            self.heard[beat.task.uid] = now

    def tick(self, now: datetime) -> None:
        """Take in, once a second, where the heartbeats say that the job stands."""
        view = self.known.view
        if view.beats and not self.ended:
            view.count()
            self._point(now, view.step, next((rank.loss for rank in view.ranks if rank.loss is not None), None))

    def _point(self, at: datetime, step: int | None, loss: float | None = None) -> None:
        """Keep a point, unless the last one is too near; a job that went back to a checkpoint is drawn so."""
        if step is None:
            return
        if self.points:
            last = self.points[-1]
            if at < last.at or step == last.step or (at - last.at < self.every and step > last.step):
                return
        self.points.append(StepPoint(at=at, step=step, loss=loss))
        if len(self.points) > POINTS_KEPT:
            self.points = [*self.points[:-1:2], self.points[-1]]
            self.every *= 2

    def grid(self, now: datetime) -> Iterable[RankView]:
        """Yield the ranks where they run now, by number; the first 4096."""
        placement = sorted(self.known.view.placement, key=lambda placed: placed.task.index)
        shown = 0
        for placed in placement:
            beat = self.known.view.beats.get(placed.task.uid)
            heard = self.heard.get(placed.task.uid)
            fresh = heard is not None and now - heard <= SILENT_AFTER
            felt = {} if beat is None else {one.rank: one for one in beat.ranks}
            for rank in placed.ranks:
                if shown == RANKS_SHOWN:
                    return
                shown += 1
                yield self._rank(rank, placed, felt.get(rank), fresh=fresh)

    def _rank(self, rank: int, placed: e.Placed, beat: RankBeat | None, *, fresh: bool) -> RankView:
        state, because = self._stands(rank, beat, fresh=fresh)
        shown = RankView(rank=rank, state=state, task=placed.task.name, node=placed.node, because=because)
        if beat is None:
            return shown
        return shown.model_copy(
            update={"step": beat.step, "estimated": beat.estimated, "phase": beat.phase, "step_s": beat.step_s}
        )

    def _stands(self, rank: int, beat: RankBeat | None, *, fresh: bool) -> tuple[RankState, str]:
        exited = self.exits.get(rank)
        if self.ended:
            return RankState.ENDED, ""
        if exited is not None:
            return RankState.EXITED, sentence(exited)
        if rank in self.stalled:
            return RankState.STALLED, "" if beat is None else f"last mark {beat.mark_age_s:.0f} s ago"
        if beat is None or not fresh:
            return RankState.SILENT, ""
        if beat.exit is not None:
            return RankState.EXITED, ""
        return (RankState.STEPPING if beat.phase is Phase.STEP else RankState.BUSY), ""
