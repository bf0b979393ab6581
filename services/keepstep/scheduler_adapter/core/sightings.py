"""What a sighting of a job object means: what is said of it, if that is news to the job's fold."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import assert_never

from keepstep.contracts.events import Finish, JobFailed, JobFinished, JobFound, JobWaiting
from keepstep.contracts.ids import EventId, JobUid, Pool, consequence_id, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.ports.controllers import Finished, Found, Listing, Sighting, Suspended, Unfit
from keepstep.scheduler_adapter.core.state import Controlled, JobState, Life, Unobeyed

OVER = (Life.ABSENT, Life.ENDING, Life.ENDED)
HEARD = timedelta(minutes=1)
"""A fold hears what was said of it within a second; after this, what it does not know was forgotten."""


class Told:
    """What was said of jobs within the last minute, ahead of their folds."""

    def __init__(self) -> None:
        self._last: dict[JobUid, Message] = {}

    def note(self, job: JobUid, message: Message) -> None:
        """Remember what was said of a job last."""
        self._last.pop(job, None)
        self._last[job] = message

    def of(self, job: JobUid, now: datetime) -> Message | None:
        """Return what was said of a job last, None where its fold has heard it by now."""
        while self._last and now - next(iter(self._last.values())).time > HEARD:
            del self._last[next(iter(self._last))]
        return self._last.get(job)


def sighted(
    state: JobState | None, said: Sighting, *, pool: Pool, now: datetime, told: Message | None = None
) -> Message | None:
    """Return what is said of a job object, None when the fold knows it or the job is over.

    ``told`` was said of the job last: what a fold has not heard of yet is known all the same.
    """
    match said:
        case Found():
            return _found(state, said, pool, now, told)
        case Suspended():
            return _suspended(state, said, now, told)
        case Unfit():
            return _unfit(state, said, pool, now, told)
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


def found(event: JobFound) -> Controlled:
    """Return what is known of a job that was found."""
    return Controlled(
        kind=event.kind,
        levels=frozenset(event.levels),
        refusals=event.refusals,
        spec=_digest(event.spec),
        word=event.id,
    )


def suspended(known: Controlled, event: JobWaiting) -> Controlled:
    """Return what is known of a job that somebody suspended."""
    return known.model_copy(update={"suspended": True, "word": event.id})


def unbegun(state: JobState) -> bool:
    """Tell whether the job may still begin: it was never seen, or only in a form that cannot be obeyed."""
    return state.life is Life.ABSENT or (state.life is Life.ENDED and state.spec is None)


def _found(state: JobState | None, said: Found, pool: Pool, now: datetime, told: Message | None) -> JobFound | None:
    known = _known(state, told)
    begins = state is None or unbegun(state)
    over = state is not None and state.life in OVER and not begins
    if over and (not said.resumed or _revived(state, told)):
        return None
    if not over and known is not None and _same(known, said, begins=begins):
        return None
    levels = tuple(sorted(said.levels))
    words = [f"{each.level} {each.because}" for each in said.refusals]
    cause = EventId(said.job.uid) if known is None else _word(said.job, known)
    return JobFound(
        id=consequence_id("JobFound", cause, subject=derive(*levels, *words, said.kind)),
        time=now,
        pool=pool,
        job=said.job,
        spec=said.spec,
        kind=said.kind,
        levels=levels,
        refusals=said.refusals,
        resumed=over,
        labels=dict(said.labels),
    )


def _same(known: Controlled, said: Found, *, begins: bool) -> bool:
    """Tell whether nothing new was found; once a job lives, its specification stays what it was at the beginning."""
    kept = (known.kind, known.levels, known.refusals) == (said.kind, said.levels, said.refusals)
    return kept and not known.suspended and (not begins or known.spec == _digest(said.spec))


def _suspended(state: JobState | None, said: Suspended, now: datetime, told: Message | None) -> JobWaiting | None:
    """Return that a job which lives was suspended, or that one which was resumed after its end is down again."""
    word = None if state is None else _standing(state, said.job, told)
    if state is None or word is None:
        return None
    return JobWaiting(
        id=consequence_id("JobWaiting", word, subject=said.because),
        time=now,
        pool=state.pool,
        job=said.job,
        generation=state.generation,
        because=said.because,
        suspended=True,
    )


def _standing(state: JobState, job: JobRef, told: Message | None) -> EventId | None:
    """Return the last word on a job whose being down is news, None for any other: it was down, or is over."""
    if state.life is not Life.ABSENT and unbegun(state) and (wrong := _unobeyed(state, told)) is not None:
        return None if wrong.down else wrong.word
    known = _known(state, told)
    if known is None or known.suspended:
        return None
    if state.life in OVER and not (_revived(state, told) or unbegun(state)):
        return None
    return _word(job, known)


def _unobeyed(state: JobState | None, told: Message | None) -> Unobeyed | None:
    """Return why a job never began, by the fold or by what it has not heard yet."""
    if isinstance(told, JobFailed):
        return Unobeyed(because=told.because, word=told.id)
    known = state.unobeyed if state is not None and not isinstance(told, JobFound) else None
    if isinstance(told, JobWaiting) and known is not None:
        return known.model_copy(update={"down": True, "word": told.id})
    return known


def _known(state: JobState | None, told: Message | None) -> Controlled | None:
    """Return what was found of a job, by the fold or by what it has not heard yet."""
    if isinstance(told, JobFound):
        return found(told)
    known = state.controlled if state is not None else None
    if isinstance(told, JobWaiting) and known is not None:
        return suspended(known, told)
    return known


def _revived(state: JobState | None, told: Message | None) -> bool:
    """Return whether it is known that somebody resumed the job after its end."""
    if isinstance(told, JobFound | JobWaiting):
        return isinstance(told, JobFound) and told.resumed
    return state is not None and state.revived


def _word(job: JobRef, known: Controlled) -> EventId:
    """Return what was said of the job last; folds of earlier versions did not keep it."""
    return known.word or EventId(derive(job.uid, known.kind))


def _unfit(state: JobState | None, said: Unfit, pool: Pool, now: datetime, told: Message | None) -> JobFailed | None:
    if not (state is None or unbegun(state)):
        return None
    known = _unobeyed(state, told)
    if known is not None and known.because == said.because and not known.down:
        return None
    cause = EventId(said.job.uid) if known is None else known.word
    return JobFailed(
        id=consequence_id("JobFailed", cause, subject=said.because),
        time=now,
        pool=pool,
        job=said.job,
        category=Category.USER_CONFIG,
        because=said.because,
    )


def _digest(spec: JobSpec) -> str:
    return derive(spec.model_dump_json())
