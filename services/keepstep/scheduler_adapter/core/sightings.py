"""What a sighting of a job object means: what is said of it, if that is news to the job's fold."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import assert_never

from keepstep.contracts.events import Finish, JobFailed, JobFinished, JobFound
from keepstep.contracts.ids import EventId, Pool, consequence_id, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import JobRef
from keepstep.ports.controllers import Finished, Found, Listing, Sighting, Unfit
from keepstep.scheduler_adapter.core.state import Controlled, JobState, Life

OVER = (Life.ABSENT, Life.ENDING, Life.ENDED)


def sighted(state: JobState | None, said: Sighting, *, pool: Pool, now: datetime) -> Message | None:
    """Return what is said of a job object, None when the fold knows it or the job is over."""
    match said:
        case Found():
            return _found(state, said, pool, now)
        case Unfit(job=job, because=because):
            new = state is None or state.life is Life.ABSENT
            return _unfit(job, because, pool, now) if new else None
        case Finished(job=job, how=how, because=because):
            alive = state is not None and state.life not in OVER
            return finished(job, how, because, pool=pool, now=now) if alive else None
        case other:
            assert_never(other)


def finished(job: JobRef, how: Finish, because: str, *, pool: Pool, now: datetime) -> JobFinished:
    """Return that a job's object is over or gone; the same whoever sees it."""
    identity = consequence_id("JobFinished", EventId(job.uid), subject=how)
    return JobFinished(id=identity, time=now, pool=pool, job=job, how=how, because=because)


def vanished(states: Iterable[JobState], listing: Listing, *, now: datetime) -> Iterator[JobFinished]:
    """Yield the jobs whose objects are gone without anybody having seen them go."""
    for state in states:
        if state.job is None or state.controlled is None or state.life in OVER:
            continue
        if not listing.lacks(state.job.uid, state.controlled.kind):
            continue
        because = f"{state.controlled.kind} is gone and nobody saw it go"
        yield finished(state.job, Finish.DELETED, because, pool=state.pool, now=now)


def _found(state: JobState | None, said: Found, pool: Pool, now: datetime) -> JobFound | None:
    if state is not None and state.life is not Life.ABSENT:
        known = Controlled(kind=said.kind, levels=said.levels, refusals=said.refusals)
        if state.life in OVER or state.controlled == known:
            return None
    levels = tuple(sorted(said.levels))
    words = [f"{each.level} {each.because}" for each in said.refusals]
    identity = consequence_id("JobFound", EventId(said.job.uid), subject=derive(*levels, *words, said.kind))
    return JobFound(
        id=identity,
        time=now,
        pool=pool,
        job=said.job,
        spec=said.spec,
        kind=said.kind,
        levels=levels,
        refusals=said.refusals,
    )


def _unfit(job: JobRef, because: str, pool: Pool, now: datetime) -> JobFailed:
    identity = consequence_id("JobFailed", EventId(job.uid), subject=because)
    return JobFailed(id=identity, time=now, pool=pool, job=job, category=Category.USER_CONFIG, because=because)
