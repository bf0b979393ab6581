"""What is known of a running job right now: a fold of its events and heartbeats for the live line."""

import statistics
from dataclasses import dataclass, field
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


ENDED = (JobState.SUCCEEDED, JobState.FAILED)


@dataclass
class JobView:
    """One job; ``hear`` and ``feel`` keep it current."""

    state: JobState = JobState.SUBMITTED
    generation: int = 0
    placement: tuple[e.Placed, ...] = ()
    incidents: set[IncidentId] = field(default_factory=set)
    beats: dict[TaskUid, Heartbeat] = field(default_factory=dict)
    exits: dict[int, e.RankExited] = field(default_factory=dict)
    because: str = ""

    def hear(self, message: Message) -> None:
        """Take in one event of the job."""
        if message.incident is not None:
            self.incidents.add(message.incident)
        match message:
            case e.JobAccepted():
                self.state = JobState.STARTING
            case e.JobWaiting():
                self.state, self.because = JobState.WAITING, message.because
            case e.JobStarted():
                self.state, self.generation = JobState.RUNNING, message.generation or 1
                self._place(message.placement)
            case e.RanksStarted():
                self.generation = message.generation or self.generation
                self._place(message.placement)
            case e.RecoveryPlanned():
                self.state, self.because = JobState.RECOVERING, message.because
            case e.RecoveryStarted():
                self.state, self.generation = JobState.RECOVERING, message.to_generation
                self.beats.clear()
            case _:
                self._hear_end(message)

    def _hear_end(self, message: Message) -> None:
        match message:
            case e.RankExited() if not message.ordered:
                self.exits[message.rank] = message
            case e.JobResumed():
                self.state = JobState.RUNNING
            case e.JobStopRequested():
                self.state, self.because = JobState.STOPPING, message.reason
            case e.JobSucceeded():
                self.state, self.because = JobState.SUCCEEDED, ""
            case e.JobFailed():
                self.state, self.because = JobState.FAILED, message.because
            case _:
                return

    def _place(self, placement: tuple[e.Placed, ...]) -> None:
        self.placement = placement
        self.beats = {uid: beat for uid, beat in self.beats.items() if uid in {placed.task.uid for placed in placement}}

    def feel(self, beat: Heartbeat) -> None:
        """Take in a heartbeat; one of an older generation is stale."""
        if beat.generation >= self.generation:
            self.beats[beat.task.uid] = beat

    @property
    def ranks(self) -> tuple[RankBeat, ...]:
        """The ranks of the current generation, as last felt."""
        return tuple(rank for beat in self.beats.values() for rank in beat.ranks)

    @property
    def step(self) -> int | None:
        """The last step that all ranks which give marks have done."""
        steps = [rank.step for rank in self.ranks if rank.step is not None]
        return min(steps) if steps else None

    @property
    def steps_per_s(self) -> float | None:
        """From the median duration of recent steps, the median of the ranks: a job is as fast as its ranks together."""
        durations = [rank.step_s for rank in self.ranks if rank.step_s]
        return 1 / statistics.median(durations) if durations else None

    def line(self) -> str:
        """Return the state of the job in one line."""
        rate, step = self.steps_per_s, self.step
        parts = [
            self.state.value,
            f"generation {self.generation}",
            f"step {'-' if step is None else step}",
            f"{rate:.1f} steps/s" if rate is not None and self.state is JobState.RUNNING else "",
            f"incidents {len(self.incidents)}",
            self.because if self.state in (JobState.WAITING, JobState.RECOVERING) else "",
        ]
        return "  ".join(part for part in parts if part)
