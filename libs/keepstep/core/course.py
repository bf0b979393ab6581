"""Where an open incident stands on its way: what is to be said next, since when. A fold of its own messages."""

# ruff: noqa: PLR0911 - a table of message and stage, in the form of match

from enum import StrEnum

from pydantic import AwareDatetime

from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Applied, Level
from keepstep.core.isolation_end import isolation_end


class Awaits(StrEnum):
    """What an incident may wait for."""

    VERDICT = "verdict"
    """Faults settle until one is judged to be the cause."""
    ANSWERS = "answers"
    ISOLATION = "isolation"
    CHECKPOINT = "checkpoint"
    PLAN = "plan"
    PEOPLE = "people"
    """All is answered, and actions are paused."""
    CLEARING = "clearing"
    """Level wait."""
    STOP = "stop"
    TASKS = "tasks"
    PLACE = "place"
    SUSPENSION = "suspension"
    RANKS = "ranks"
    FIRST_STEP = "first_step"
    RELEASE = "release"
    """Of what is isolated: an incident that is no job's lasts as long as that."""
    ACKNOWLEDGEMENT = "acknowledgement"
    """It is overdue, and nobody looks after it."""
    CLOSING = "closing"


class Course(Frozen):
    """Where an incident stands."""

    awaits: Awaits = Awaits.VERDICT
    since: AwareDatetime | None = None
    because: str = ""
    """Why, where that was said."""
    verdict: EventId | None = None
    """The verdict that is answered now."""
    fenced: bool = False
    chosen: bool = False
    level: Level | None = None
    planned: AwareDatetime | None = None
    generation: int | None = None
    """That which is being made."""
    kept: int = 0
    """Tasks whose ranks stop and start again where they are."""
    stopped: frozenset[TaskUid] = frozenset()
    until: AwareDatetime | None = None
    """When what is waited for is over at the latest, where the messages tell."""
    overdue: AwareDatetime | None = None
    """Since when it is open past all its deadlines."""


def follow(course: Course, message: Message) -> Course:
    """Return the course with one more message of its incident; the same object where that changes nothing."""
    match message:
        case e.IncidentOpened():
            return _turn(course, Awaits.VERDICT, message)
        case e.FaultDiagnosed():
            return _turn(course, Awaits.ANSWERS, message, verdict=message.id, fenced=False, chosen=False)
        case e.IncidentOverdue():
            return course.model_copy(update={"overdue": message.time})
        case e.RecoveryPlanned():
            return _planned(course, message)
        case e.RecoveryFailed():
            return _turn(course, Awaits.PLAN, message, because=message.because)
        case e.JobWaiting(runs=True):
            return course
        case e.JobWaiting():
            awaits = Awaits.SUSPENSION if message.suspended else Awaits.PLACE
            return _turn(course, awaits, message, because=message.because)
        case e.RanksStarted():
            return _turn(course, Awaits.FIRST_STEP, message)
        case e.JobResumed() | e.JobFailed() | e.JobStopRequested():
            return _turn(course, Awaits.CLOSING, message)
        case _:
            return _answered(course, message)


def _turn(course: Course, awaits: Awaits, message: Message, *, because: str = "", **more: object) -> Course:
    """Return the course that waits for something else from this message on."""
    update = {"awaits": awaits, "since": message.time, "because": because, "until": None}
    return course.model_copy(update=update | more)


def _planned(course: Course, message: e.RecoveryPlanned) -> Course:
    awaits = Awaits.CLEARING if message.level is Level.WAIT else Awaits.STOP
    return _turn(
        course, awaits, message, level=message.level, planned=message.time, generation=message.to_generation,
        kept=len(message.expected) - len(message.replace), stopped=frozenset(),
    )  # fmt: skip


def _answered(course: Course, message: Message) -> Course:
    """Take in an answer to the verdict, or to the plan."""
    match message:
        case e.NodeIsolated() | e.DeviceIsolated() if message.job is None:
            return _turn(course, Awaits.RELEASE, message, because=isolation_end(message), until=message.until)
        case e.NodeIsolated() | e.DeviceIsolated() | e.IsolationDeclined() if message.cause == course.verdict:
            return _whole(course.model_copy(update={"fenced": True}), message)
        case e.CheckpointChosen() if message.cause == course.verdict:
            return _whole(course.model_copy(update={"chosen": True}), message)
        case e.RecoveryStarted() if course.awaits is Awaits.STOP:
            return _turn(course, Awaits.STOP, message)
        case e.PlanApplied() if message.generation == course.generation and message.task is not None:
            return _applied(course, message, message.task)
        case _:
            return course


def _whole(course: Course, message: Message) -> Course:
    """Return the course as it goes on once both answers are there."""
    both = course.awaits is Awaits.ANSWERS and course.fenced and course.chosen
    return _turn(course, Awaits.PLAN, message) if both else course


def _applied(course: Course, message: e.PlanApplied, task: TaskUid) -> Course:
    match message.applied:
        case Applied.STARTED if course.awaits in (Awaits.STOP, Awaits.TASKS, Awaits.PLACE):
            return _turn(course, Awaits.RANKS, message)
        case Applied.STOPPED if not message.unkillable and course.awaits is Awaits.STOP:
            known = course.model_copy(update={"stopped": course.stopped | {task}})
            if len(known.stopped) < course.kept:
                return known
            return _turn(known, Awaits.RANKS if course.level is Level.IN_PLACE else Awaits.TASKS, message)
        case _:
            return course
