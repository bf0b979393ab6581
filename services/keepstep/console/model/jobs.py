"""All jobs: those that live, and the newest of those that ended."""

from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from keepstep.console.model.job import KeptJob
from keepstep.console.model.places import Places
from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message, Order
from keepstep.contracts.telemetry import Heartbeat
from keepstep.core.known_job import KnownJob

KEPT = 1000
"""Jobs in all; what lives is dropped only when there are as many as that."""
LOOKED_AT = 64
"""Oldest jobs among which one that ended is looked for."""


class Jobs:
    """The jobs in the order in which they were heard of first."""

    def __init__(self, places: Places, kept: int = KEPT) -> None:
        self._places, self._kept = places, kept
        self._jobs: OrderedDict[JobUid, KeptJob] = OrderedDict()
        self.seen = 0
        """Ever heard of."""

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[KeptJob]:
        return iter(self._jobs.values())

    def hear(self, message: Message) -> KeptJob | None:
        """Take in a message of a job; return the job, None for a message of none."""
        if message.job is None or (isinstance(message, Order) and message.job.uid not in self._jobs):
            return None
        job = self._jobs.get(message.job.uid)
        if job is None:
            job = self._jobs[message.job.uid] = KeptJob(KnownJob(message.job))
            self.seen += 1
            self._forget()
        job.hear(message)
        match message:
            case e.JobStarted() | e.RanksStarted():
                self._places.put(job.ref, message.placement)
            case e.TaskJoined():
                self._places.given(message.ref.uid, message.devices)
            case _ if job.ended:
                self._places.drop(job.ref.uid)
        return job

    def feel(self, beat: Heartbeat, now: datetime) -> None:
        """Take in a heartbeat of a job that is known."""
        if (job := self._jobs.get(beat.job.uid)) is not None:
            job.feel(beat, now)

    def tick(self, now: datetime) -> None:
        """Let every living job take stock."""
        for job in self._jobs.values():
            job.tick(now)

    def get(self, uid: JobUid) -> KeptJob | None:
        """Return the job of this uid."""
        return self._jobs.get(uid)

    def newest(self) -> Iterator[KeptJob]:
        """Yield the jobs, newest first."""
        return reversed(self._jobs.values())

    def _forget(self) -> None:
        while len(self._jobs) > self._kept:
            first = list(islice(self._jobs.values(), LOOKED_AT))
            oldest = next((job for job in first if job.ended), first[0])
            del self._jobs[oldest.ref.uid]
            self._places.drop(oldest.ref.uid)
