"""The jobs of a pool, each a fold of its events."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from keepstep.cli.errors import Failed
from keepstep.cli.places import means
from keepstep.cli.show import shown
from keepstep.cli.view import ENDED, JobState, JobView
from keepstep.contracts.events import JobAccepted
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.telemetry import Heartbeat
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.core import ettr
from keepstep.runtime.client import Client

LISTEN_S = 1.2
"""Every agent beats once a second; who has said nothing after this long is not waited for."""


@dataclass
class KnownJob:
    """One job as its events tell it."""

    ref: JobRef
    spec: JobSpec | None = None
    since: datetime | None = None
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
            case _:
                return

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


async def listen(client: Client, jobs: Sequence[KnownJob]) -> None:
    """Take in a heartbeat of every task of the running jobs, for 1.2 seconds at most."""
    running = {job.ref.uid: job for job in jobs if job.view.state is JobState.RUNNING}
    complete = asyncio.Event()

    def felt(beat: Heartbeat) -> None:
        if (job := running.get(beat.job.uid)) is None:
            return
        job.view.feel(beat)
        if all({placed.task.uid for placed in one.view.placement} <= set(one.view.beats) for one in running.values()):
            complete.set()

    if running:
        tasks = [asyncio.ensure_future(client.telemetry.hear(felt)), asyncio.ensure_future(complete.wait())]
        await asyncio.wait(tasks, timeout=LISTEN_S, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def to_stop(jobs: Sequence[KnownJob], name: str) -> KnownJob:
    """Return the job of this name or uid that has not ended; raises Failed unless there is exactly one."""
    meant = [job for job in jobs if means(name, job.ref)]
    match [job for job in meant if not job.ended]:
        case [job]:
            return job
        case []:
            if not meant:
                raise Failed(f"there is no job {name}; keepstep job list shows them")
            last = meant[-1]
            raise Failed(f"job {last.ref.name} {last.ref.uid} has {last.view.state} already; there is nothing to stop")
        case several:
            uids = ", ".join(job.ref.uid for job in several)
            raise Failed(f"{len(several)} jobs {name} have not ended; say the uid of one: {uids}")
