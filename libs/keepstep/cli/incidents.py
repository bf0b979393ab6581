"""The incidents that a story tells of, with the jobs that they are of: these say how long one may wait for what."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from keepstep.cli import history
from keepstep.cli.jobs import hear, left_behind
from keepstep.contracts.ids import IncidentId, JobUid
from keepstep.core import timeline
from keepstep.core.awaiting import Awaited, awaited, ground_of
from keepstep.core.known_job import KnownJob
from keepstep.core.timeline import Timeline


@dataclass
class Incidents:
    """Incidents, oldest first, and the jobs."""

    timelines: dict[IncidentId, Timeline] = field(default_factory=dict)
    jobs: dict[JobUid, KnownJob] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Timeline]:
        return iter(self.timelines.values())

    def waits(self, incident: Timeline) -> Awaited | None:
        """Return what an incident waits for; None for one that is closed, or whose job has ended."""
        return awaited(incident, ground_of(None if incident.job is None else self.jobs.get(incident.job.uid)))

    def as_object(self, incident: Timeline, *, whole: bool) -> dict[str, object]:
        """Return an incident with stable keys, for ``--json``; ``whole``: with all that was said in it."""
        left_out = {"course"} if whole else {"course", "entries", "last_lines"}
        waits = self.waits(incident)
        told = None if waits is None else waits.model_dump(mode="json")
        return incident.model_dump(mode="json", exclude=left_out) | {"waits": told}


async def incidents(data: Path, job: str | None = None) -> Incidents:
    """Return the incidents (of one job) of the first source that knows any such. Raises Failed without any source."""
    found = Incidents()
    for source in history.sources(data, job):
        found, known = await _of(source, job)
        if known or job is None:
            break
    return found


async def all_incidents(data: Path) -> Incidents:
    """Return the incidents of every source in the data folder, each once. Raises Failed without any."""
    found = Incidents()
    for source in reversed(history.sources(data)):
        one, _ = await _of(source, None)
        found.timelines |= one.timelines
        found.jobs |= one.jobs
    return found


async def _of(source: history.Source, job: str | None) -> tuple[Incidents, bool]:
    """Return what a source tells, and whether it knows the job."""
    record, jobs, known = timeline.Record(), dict[JobUid, KnownJob](), False
    async for message in history.said(source):
        if history.concerns(message, job):
            known = True
            record = timeline.tell(record, message)
            hear(jobs, message)
    if not isinstance(source, history.Running):
        left_behind(jobs.values())
    return Incidents(dict(record.timelines), jobs), known
