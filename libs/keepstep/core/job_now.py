"""What is known of a running job right now: a fold of its events and heartbeats for the live line."""

import statistics
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from keepstep.contracts import events as e
from keepstep.contracts.ids import IncidentId, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.telemetry import Heartbeat, RankBeat


class JobState(StrEnum):
    """Where a job stands."""

    SUBMITTED = "submitted"
    STARTING = "starting"
    WAITING = "waiting"
    RUNNING = "running"
    RECOVERING = "recovering"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    ABANDONED = "abandoned"
    """Its keepstep is gone, and its ranks with it, without a word about the job's end."""


ENDED = (JobState.SUCCEEDED, JobState.FAILED, JobState.STOPPED, JobState.ABANDONED)


@dataclass
class JobNow:
    """One job; ``hear`` and ``feel`` keep it current."""

    state: JobState = JobState.SUBMITTED
    generation: int = 0
    placement: tuple[e.Placed, ...] = ()
    incidents: set[IncidentId] = field(default_factory=set)
    beats: dict[TaskUid, Heartbeat] = field(default_factory=dict)
    exits: dict[int, e.RankExited] = field(default_factory=dict)
    because: str = ""
    """Why it stands so: the reason of this state and of no earlier one; empty where the state says it all."""
    recovery: str = ""
    """Why it is recovered, for when a wait within its recovery is over."""
    newest_step: int | None = None
    """The step that was felt or told of last; known when nobody beats any more."""
    pauses: frozenset[str] = frozenset()
    """What keeps faults from being acted on: a pause of the job's own, of its pool, or both."""
    paused_since: datetime | None = None
    """Since when faults are not acted on; None while they are."""
    ended: datetime | None = None

    def hear(self, message: Message) -> None:
        """Take in one event of the job."""
        if message.incident is not None:
            self.incidents.add(message.incident)
        match message:
            case e.JobAccepted():
                self._stand(JobState.STARTING)
            case e.JobWaiting(runs=True):
                self.because = message.because if self.state is JobState.RUNNING else self.because
            case e.JobWaiting():
                self._stand(JobState.WAITING, message.because)
            case e.JobStarted():
                self._stand(JobState.RUNNING)
                self.generation = message.generation or 1
                self._place(message.placement)
            case e.FaultDiagnosed() if self.state is JobState.RUNNING:
                self._recover(message.verdict.because)
            case e.RecoveryPlanned():
                self._recover(message.because)
            case _:
                self._hear_restart(message)

    def _hear_restart(self, message: Message) -> None:
        match message:
            case e.RecoveryStarted():
                self._recover(self.recovery)
                self.generation = message.to_generation
                self.beats.clear()
            case e.RanksStarted():
                if self.state is JobState.WAITING:
                    self._recover(self.recovery)
                self.generation = message.generation or self.generation
                self._place(message.placement)
            case _:
                self._hear_end(message)

    def _stand(self, state: JobState, because: str = "") -> None:
        """Take the state together with its reason, so that none outlives its state."""
        self.state, self.because = state, because

    def _recover(self, because: str) -> None:
        self.recovery = because
        self._stand(JobState.RECOVERING, because)

    def _hear_end(self, message: Message) -> None:
        match message:
            case e.RankExited():
                self._exit(message)
            case e.JobResumed():
                self._stand(JobState.RUNNING)
                self._reach(message.step)
            case e.IncidentClosed() if self.state is JobState.RECOVERING:
                self._stand(JobState.RUNNING)
            case e.FirstStepDone() | e.CheckpointCommitted():
                self._reach(message.step)
            case e.JobStopRequested():
                self._stand(JobState.STOPPING, message.reason)
            case e.JobSucceeded():
                self._end(JobState.SUCCEEDED, "", message)
                self._reach(message.step)
            case e.JobFailed():
                self._end(JobState.FAILED, message.because, message)
            case e.JobDeleted() if self.state not in ENDED:
                self._end(JobState.STOPPED, self.because if self.state is JobState.STOPPING else "", message)
            case _:
                self._hear_pause(message)

    def _exit(self, message: e.RankExited) -> None:
        if not message.ordered:
            self.exits[message.rank] = message
        if message.step is not None:
            self._reach(max(message.step, self.newest_step or 0))

    def _end(self, state: JobState, because: str, message: Message) -> None:
        self._stand(state, because)
        self.ended = message.time

    def abandon(self) -> None:
        """Take in that the job's keepstep is gone, which ends whatever nobody had ended."""
        match self.state:
            case JobState.STOPPING:
                self._stand(JobState.STOPPED, self.because)
            case state if state not in ENDED:
                self._stand(JobState.ABANDONED, f"its keepstep ended while it was {state}")
            case _:
                return

    def _hear_pause(self, message: Message) -> None:
        before = bool(self.pauses)
        match message:
            case e.ActionsPaused():
                self.pauses |= {"pool" if message.job is None else "job"}
            case e.ActionsResumed():
                self.pauses -= {"pool" if message.job is None else "job"}
            case e.JobHeld():
                self.pauses |= {"pool"}
            case e.JobFreed():
                self.pauses -= {"pool"}
            case _:
                return
        if bool(self.pauses) != before:
            self.paused_since = message.time if self.pauses else None

    def _reach(self, step: int | None) -> None:
        self.newest_step = self.newest_step if step is None else step

    def _place(self, placement: tuple[e.Placed, ...]) -> None:
        self.placement = placement
        self.beats = {uid: beat for uid, beat in self.beats.items() if uid in {placed.task.uid for placed in placement}}

    def feel(self, beat: Heartbeat) -> None:
        """Take in a heartbeat; one of an older generation is stale."""
        if self.hold(beat):
            self.count()

    def hold(self, beat: Heartbeat) -> bool:
        """Keep a heartbeat without looking at the others, of which a large job has a thousand each second."""
        if beat.generation < self.generation:
            return False
        self.beats[beat.task.uid] = beat
        return True

    def count(self) -> None:
        """Take in the step that the heartbeats agree on."""
        self._reach(self._felt_step)

    @property
    def ranks(self) -> tuple[RankBeat, ...]:
        """The ranks of the current generation, as last felt."""
        return tuple(rank for beat in self.beats.values() for rank in beat.ranks)

    @property
    def step(self) -> int | None:
        """The last step that all ranks which give marks have done, else the newest that is known."""
        return self.newest_step if (felt := self._felt_step) is None else felt

    @property
    def _felt_step(self) -> int | None:
        steps = [rank.step for rank in self.ranks if rank.step is not None]
        return min(steps) if steps else None

    @property
    def steps_per_s(self) -> float | None:
        """From the median duration of recent steps, the median of the ranks: a job is as fast as its ranks together."""
        durations = [rank.step_s for rank in self.ranks if rank.step_s is not None and rank.step_s > 0]
        return 1 / statistics.median(durations) if durations else None

    @property
    def paused(self) -> bool:
        """Whether faults of the job are recorded and not acted on."""
        return bool(self.pauses) and self.state not in ENDED

    @property
    def standing(self) -> str:
        """The state in a word or two: ``running, paused``."""
        return f"{self.state.value}, paused" if self.paused else self.state.value

    def line(self) -> str:
        """Return the state of the job in one line."""
        return f"{self.standing}  {self.facts()}"

    def facts(self) -> str:
        """Return what else is known now, in one line; what is not known is left out."""
        rate, step = self.steps_per_s, self.step
        parts = [
            f"generation {self.generation}",
            "" if step is None else f"step {step}",
            f"{rate:.1f} steps/s" if rate is not None and self.state is JobState.RUNNING else "",
            f"incidents {len(self.incidents)}",
            self.because,
        ]
        return "  ".join(part for part in parts if part)
