"""One job as its events tell it: how it stands, how much of its time was training, and what it went through."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from keepstep.contracts.events import JobAccepted
from keepstep.contracts.message import Message
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.core import ettr
from keepstep.core.history import History, tell
from keepstep.core.job_now import ENDED, JobNow, JobState
from keepstep.core.showing import shown


@dataclass
class KnownJob:
    """One job as its events tell it."""

    ref: JobRef
    spec: JobSpec | None = None
    since: datetime | None = None
    heard: datetime | None = None
    """When it was heard of last."""
    view: JobNow = field(default_factory=JobNow)
    run: ettr.Run = field(default_factory=ettr.Run)
    history: History = field(default_factory=History)

    def hear(self, message: Message) -> None:
        """Take in one of its events."""
        self.since, self.heard = self.since or message.time, message.time
        self.view.hear(message)
        self.run = ettr.tell(self.run, message)
        self.history = tell(self.history, message)
        match message:
            case JobAccepted():
                self.spec = message.spec
            case _:
                return

    @property
    def born(self) -> datetime:
        """When it was first heard of."""
        return self.since or datetime.max.replace(tzinfo=UTC)

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs or will run."""
        return self.view.state in ENDED

    @property
    def exit_code(self) -> int | None:
        """What the job ended with: 0, or the code of the rank that failed last; None where nobody knows."""
        match self.view.state:
            case JobState.SUCCEEDED:
                return 0
            case JobState.FAILED:
                codes = [exited.exit.code for exited in self.view.exits.values() if exited.exit.code]
                return codes[-1] if codes else None
            case _:
                return None

    def ratio(self, now: datetime) -> ettr.Ratio:
        """Return the effective-training-time ratio up to the job's end, or up to ``now`` while it runs.

        Nobody knows when an abandoned job ended; it is taken for when it was heard of last.
        """
        heard = self.heard if self.view.state is JobState.ABANDONED else None
        return ettr.ratio(self.run, now=heard or now)

    def as_object(self, now: datetime) -> dict[str, object]:
        """Return the job with stable keys, as of now."""
        return {
            "name": self.ref.name,
            "uid": self.ref.uid,
            "state": self.view.state.value,
            "paused": self.view.paused,
            "because": self.view.because,
            "ended": None if self.view.ended is None else self.view.ended.isoformat(),
            "exit_code": self.exit_code,
            "step": self.view.step,
            "since": None if self.since is None else self.since.isoformat(),
            "generation": self.view.generation,
            "incidents": len(self.view.incidents),
            "history": self.history.model_dump(mode="json"),
            "placement": [placed.model_dump(mode="json") for placed in self.view.placement],
            "ratio": self.ratio(now).model_dump(mode="json"),
            "spec": None if self.spec is None else shown(self.spec).model_dump(mode="json"),
        }
