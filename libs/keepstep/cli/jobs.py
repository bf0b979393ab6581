"""The jobs of a pool, each a fold of its events."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from keepstep.cli.show import shown
from keepstep.cli.view import ENDED, JobView
from keepstep.contracts.events import JobAccepted, JobDeleted
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.core import ettr
from keepstep.runtime.client import Client


@dataclass
class KnownJob:
    """One job as its events tell it."""

    ref: JobRef
    spec: JobSpec | None = None
    since: datetime | None = None
    deleted: bool = False
    view: JobView = field(default_factory=JobView)
    run: ettr.Run = field(default_factory=ettr.Run)

    def hear(self, message: Message) -> None:
        """Take in one of its events."""
        self.since = self.since or message.time
        self.view.hear(message)
        self.run = ettr.tell(self.run, message)
        match message:
            case JobAccepted():
                self.spec = message.spec
            case JobDeleted():
                self.deleted = True
            case _:
                return

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs or will run."""
        return self.deleted or self.view.state in ENDED

    def as_object(self) -> dict[str, object]:
        """Return the job with stable keys, for ``--json``."""
        return {
            "name": self.ref.name,
            "uid": self.ref.uid,
            "state": "deleted" if self.deleted else self.view.state.value,
            "because": self.view.because,
            "since": None if self.since is None else self.since.isoformat(),
            "generation": self.view.generation,
            "incidents": len(self.view.incidents),
            "placement": [placed.model_dump(mode="json") for placed in self.view.placement],
            "ratio": ettr.ratio(self.run, now=datetime.now(UTC)).model_dump(mode="json"),
            "spec": None if self.spec is None else shown(self.spec).model_dump(mode="json"),
        }


async def jobs_of(client: Client) -> tuple[KnownJob, ...]:
    """Return every job that the stream tells of, oldest first."""
    found: dict[JobUid, KnownJob] = {}
    async for said in client.read():
        if said.message is not None and said.message.job is not None:
            ref = said.message.job
            found.setdefault(ref.uid, KnownJob(ref)).hear(said.message)
    return tuple(found.values())
