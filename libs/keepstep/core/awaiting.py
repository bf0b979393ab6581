"""What an open incident waits for, in one sentence: what, since when, and how long at most."""

# ruff: noqa: PLR0911 - a table of what is waited for and its limit, in the form of match

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from keepstep.contracts.model import Frozen
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Language, Level
from keepstep.core.course import Awaits, Course
from keepstep.core.isolation_end import day_time
from keepstep.core.known_job import KnownJob
from keepstep.core.timeline import Timeline
from keepstep.core.words.labels import label


class Awaited(Frozen):
    """What is waited for."""

    what: Awaits
    since: AwareDatetime
    limit_s: float | None = None
    """From ``since`` on; after it the next level is taken, or what its owner decides. None: it waits on."""
    sentence: str


@dataclass(frozen=True)
class Ground:
    """What of its job decides how long an incident waits."""

    policy: Policy = field(default_factory=Policy)
    paused: datetime | None = None
    """Since when nothing is acted on."""
    over: bool = False
    """The job has ended: what is still open waits for nothing any more."""


def ground_of(job: KnownJob | None) -> Ground:
    """Return what of a job decides; of one that is not known the defaults."""
    if job is None:
        return Ground()
    policy = Policy() if job.spec is None else job.spec.policy
    return Ground(policy=policy, paused=job.view.paused_since, over=job.ended)


def awaited(incident: Timeline, ground: Ground) -> Awaited | None:
    """Return what an incident waits for; None for one that is closed or whose job has ended."""
    if incident.closed is not None or ground.over:
        return None
    course = incident.course
    since = course.since or incident.opened
    what, since = _what(course, since, ground)
    until = course.until or _until(what, course, since, ground.policy)
    found = _told(what, since, until, course.because)
    if course.overdue is None or incident.acknowledged is not None:
        return found
    return _told(Awaits.ACKNOWLEDGEMENT, course.overdue, None, found.sentence)


def _what(course: Course, since: datetime, ground: Ground) -> tuple[Awaits, datetime]:
    match course.awaits:
        case Awaits.ANSWERS if course.chosen:
            return Awaits.ISOLATION, since
        case Awaits.ANSWERS if course.fenced:
            return Awaits.CHECKPOINT, since
        case Awaits.PLAN if ground.paused is not None:
            return Awaits.PEOPLE, max(since, ground.paused)
        case what:
            return what, since


def _until(what: Awaits, course: Course, since: datetime, policy: Policy) -> datetime | None:
    """Return when it is over at the latest, as the policy says."""
    recovery = policy.recovery
    match what:
        case Awaits.VERDICT:
            return since + policy.detection.settle_limit
        case Awaits.ANSWERS | Awaits.ISOLATION | Awaits.CHECKPOINT:
            return since + recovery.join_deadline
        case Awaits.STOP:
            return since + recovery.stop_deadline
        case Awaits.CLEARING:
            return since + recovery.level_deadlines[Level.WAIT]
        case Awaits.PLACE:
            return since if recovery.pending == "fail" else _after(since, recovery.pending_limit)
        case Awaits.TASKS | Awaits.RANKS | Awaits.FIRST_STEP if course.level is not None and course.planned is not None:
            return _after(course.planned, recovery.level_deadlines.get(course.level))
        case _:
            return None


def _after(since: datetime, span: timedelta | None) -> datetime | None:
    return None if span is None else since + span


def _told(what: Awaits, since: datetime, until: datetime | None, because: str) -> Awaited:
    limit_s = None if until is None else max(0.0, round((until - since).total_seconds(), 1))
    limit = "no limit" if limit_s is None else f"limit {limit_s:g} s"
    about = label("awaits", what, Language.EN)
    sentence = f"waits for {about} since {day_time(since)}, {limit}"
    why = f": {because}" if because else ""
    return Awaited(what=what, since=since, limit_s=limit_s, sentence=sentence + why)
