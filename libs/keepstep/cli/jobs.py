"""Jobs, each a fold of its events, and which one people mean by a name."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from keepstep.cli.errors import Failed
from keepstep.cli.places import means
from keepstep.cli.show import shown
from keepstep.cli.view import ENDED, JobState, JobView
from keepstep.contracts.events import JobAccepted
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.core import ettr
from keepstep.core.history import History, tell

ENDINGS: dict[JobState, str] = {
    JobState.SUCCEEDED: "has succeeded",
    JobState.FAILED: "has failed",
    JobState.STOPPED: "was stopped",
    JobState.ABANDONED: "has ended with its keepstep",
}
"""How a job ended, as a sentence about it goes on."""


@dataclass
class KnownJob:
    """One job as its events tell it."""

    ref: JobRef
    spec: JobSpec | None = None
    since: datetime | None = None
    heard: datetime | None = None
    """When it was heard of last."""
    view: JobView = field(default_factory=JobView)
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

    @property
    def ratio(self) -> ettr.Ratio:
        """The effective-training-time ratio up to its end, or up to now; nobody knows when an abandoned job ended."""
        heard = self.heard if self.view.state is JobState.ABANDONED else None
        return ettr.ratio(self.run, now=heard or datetime.now(UTC))

    def as_object(self) -> dict[str, object]:
        """Return the job with stable keys, for ``--json``."""
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
            "ratio": self.ratio.model_dump(mode="json"),
            "spec": None if self.spec is None else shown(self.spec).model_dump(mode="json"),
        }


async def fold(story: AsyncIterator[Message]) -> tuple[KnownJob, ...]:
    """Return every job that a story tells of, oldest first."""
    found: dict[JobUid, KnownJob] = {}
    async for message in story:
        if message.job is not None:
            found.setdefault(message.job.uid, KnownJob(message.job)).hear(message)
    return tuple(found.values())


def left_behind(jobs: Iterable[KnownJob]) -> tuple[KnownJob, ...]:
    """Return the jobs of a stack that is gone: one that nobody ended ended with it."""
    found = tuple(jobs)
    for job in found:
        job.view.abandon()
    return found


def living(jobs: Sequence[KnownJob], name: str, *, to: str) -> KnownJob:
    """Return the job of this name or uid that has not ended; raises Failed unless there is exactly one.

    ``to`` is what is asked of it, as in ``stop``.
    """
    meant = [job for job in jobs if means(name, job.ref)]
    match [job for job in meant if not job.ended]:
        case [job]:
            return job
        case []:
            if not meant:
                raise Failed(f"there is no job {name}; keepstep job list shows them")
            last = meant[-1]
            how = f"{ENDINGS.get(last.view.state, last.view.state)} already; there is nothing to {to}"
            raise Failed(f"job {last.ref.name} {last.ref.uid} {how}")
        case several:
            uids = ", ".join(job.ref.uid for job in several)
            raise Failed(f"{len(several)} jobs {name} have not ended; say the uid of one: {uids}")


def newest(jobs: Sequence[KnownJob], name: str) -> KnownJob:
    """Return the job of this name or uid: one that has not ended before one that has, then the newest. Failed."""
    meant = [job for job in jobs if means(name, job.ref)]
    if not meant:
        raise Failed(f"there is no job {name}; keepstep job list shows them")
    return next((job for job in reversed(meant) if not job.ended), meant[-1])
