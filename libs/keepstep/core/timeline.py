"""The timeline of an incident: a fold of the stream into who said what when, and where the seconds went.

The stages are the accounts of IncidentClosed where the job resumed; otherwise they are cut from the milestones of the
incident. Either way they add up to ``wall_s``.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from pydantic import AwareDatetime, Field

from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, IncidentId, NodeName, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.contracts.topology import Culprit, JobRef
from keepstep.core.beginning import began
from keepstep.core.course import Course, follow
from keepstep.core.sentences import NO_NAMES, culprit_words, sentence
from keepstep.core.stages import UNTIL_CLOSED, Entry, Stage, milestones, stages_of

K = TypeVar("K")
V = TypeVar("V")

FAULTS_KEPT = 256
"""Faults remembered until their incident names them: more than one incident gathers in its two seconds of settling."""
ENTRIES_KEPT = 500
"""Entries of one incident; a storm is cut, its end is still told."""


class Timeline(Frozen):
    """One incident as people want to read it."""

    incident: IncidentId
    job: JobRef | None = None
    node: NodeName | None = None
    occurred: AwareDatetime
    opened: AwareDatetime
    closed: AwareDatetime | None = None
    category: Category | None = None
    culprit: Culprit | None = None
    who: str = "nobody"
    because: str = ""
    levels: tuple[Level, ...] = ()
    attempts: int = 0
    outcome: Outcome | None = None
    lost_steps: int | None = None
    estimated: bool = False
    wall_s: float = 0.0
    stages: tuple[Stage, ...] = ()
    last_lines: tuple[str, ...] = ()
    """What the rank to blame printed last before its exit, as its agent kept it."""
    acknowledged: str | None = None
    """Who looks after it."""
    course: Course = Course()
    """Where it stands while it is open."""
    entries: tuple[Entry, ...] = ()

    @property
    def last(self) -> datetime:
        """When the incident was last heard of."""
        return self.closed if self.closed is not None else self.entries[-1].at


class Record(Frozen):
    """All incidents told so far, and the faults that no incident has claimed yet."""

    timelines: dict[IncidentId, Timeline] = Field(default_factory=dict)
    faults: dict[EventId, e.FaultDetected] = Field(default_factory=dict)
    tasks: dict[TaskUid, str] = Field(default_factory=dict)
    """Names of the tasks seen last, for people who do not know uids."""

    @property
    def incidents(self) -> tuple[Timeline, ...]:
        """The incidents in the order in which they were opened."""
        return tuple(self.timelines.values())


def tell(record: Record, message: Message) -> Record:
    """Return the record with one more message; one that was told before changes nothing.

    That people were told of an incident is no part of what happened; that they could not be told is.
    """
    if isinstance(message, e.FaultDetected):
        return record.model_copy(update={"faults": _kept(record.faults, message.id, message)})
    if isinstance(message, e.TaskJoined):
        return record.model_copy(update={"tasks": _kept(record.tasks, message.ref.uid, message.ref.name)})
    if message.incident is None:
        return record
    before = record.timelines.get(message.incident)
    after = grown(before, message, record.faults, record.tasks)
    if after is None or after is before:
        return record
    return record.model_copy(update={"timelines": {**record.timelines, message.incident: after}})


def grown(
    timeline: Timeline | None,
    message: Message,
    faults: Mapping[EventId, e.FaultDetected],
    tasks: Mapping[TaskUid, str] = NO_NAMES,
) -> Timeline | None:
    """Return an incident with one more message of it; the same object where that adds nothing, None for no incident.

    What went to people as it should is none of its steps: there would be as many as of all else. What did not is.
    """
    if message.incident is None or isinstance(message, e.NotificationQueued | e.NotificationDelivered):
        return timeline
    if timeline is None:
        timeline = Timeline(
            incident=message.incident, job=message.job, node=message.node, occurred=began(message), opened=message.time
        )
    elif any(entry.id == message.id for entry in timeline.entries):
        return timeline
    return _follow(_claim(timeline, message, faults), message, tasks)


def _kept(known: Mapping[K, V], key: K, value: V) -> dict[K, V]:
    kept = {**known, key: value}
    while len(kept) > FAULTS_KEPT:
        del kept[next(iter(kept))]
    return kept


def _claim(timeline: Timeline, message: Message, faults: Mapping[EventId, e.FaultDetected]) -> Timeline:
    """Take in the faults that the message says belong to this incident."""
    match message:
        case e.IncidentOpened():
            named: tuple[EventId, ...] = (message.fault,)
        case e.FaultDiagnosed():
            named = message.faults
        case _:
            return timeline
    for name in named:
        if (fault := faults.get(name)) is not None:
            timeline = _enter(timeline, fault)
            timeline = timeline.model_copy(update={"occurred": min(timeline.occurred, fault.occurred)})
            if is_of_culprit(fault, message):
                timeline = timeline.model_copy(update={"last_lines": _words(fault)})
    return timeline


def is_of_culprit(fault: e.FaultDetected, message: Message) -> bool:
    """Return whether the message is a verdict that blames the rank of which this fault tells the end."""
    return (
        isinstance(message, e.FaultDiagnosed)
        and isinstance(fault.evidence, e.ExitEvidence)
        and message.verdict.culprit is not None
        and message.verdict.culprit.rank == fault.evidence.rank
    )


def _words(fault: e.FaultDetected) -> tuple[str, ...]:
    return fault.evidence.last_lines if isinstance(fault.evidence, e.ExitEvidence) else ()


def _enter(timeline: Timeline, message: Message, tasks: Mapping[TaskUid, str] = NO_NAMES) -> Timeline:
    if any(entry.id == message.id for entry in timeline.entries):
        return timeline
    entry = Entry(id=message.id, at=message.time, what=type(message).__name__, text=sentence(message, tasks))
    return timeline.model_copy(update={"entries": (*timeline.entries, entry)[-ENTRIES_KEPT:]})


def _follow(timeline: Timeline, message: Message, tasks: Mapping[TaskUid, str]) -> Timeline:
    timeline = _enter(timeline, message, tasks)
    if (course := follow(timeline.course, message)) is not timeline.course:
        timeline = timeline.model_copy(update={"course": course})
    match message:
        case e.IncidentAcknowledged():
            return timeline.model_copy(update={"acknowledged": message.by})
        case e.FaultDiagnosed():
            return timeline.model_copy(
                update={
                    "category": message.verdict.category,
                    "culprit": message.verdict.culprit,
                    "who": culprit_words(message.verdict.culprit, tasks),
                    "because": message.verdict.because,
                    "occurred": began(message, timeline.occurred),
                    "attempts": max(timeline.attempts, message.attempt),
                }
            )
        case e.RecoveryPlanned() if timeline.levels[-1:] != (message.level,):
            return timeline.model_copy(update={"levels": (*timeline.levels, message.level)})
        case e.JobResumed():
            return timeline.model_copy(update={"lost_steps": message.lost_steps, "estimated": message.estimated})
        case e.IncidentClosed():
            return _close(timeline, message)
        case _:
            return timeline


def _close(timeline: Timeline, message: e.IncidentClosed) -> Timeline:
    closed: dict[str, object] = {
        "closed": message.time,
        "outcome": message.outcome,
        "category": message.category,
        "levels": message.levels or timeline.levels,
        "attempts": max(timeline.attempts, message.attempts),
    }
    if (accounts := message.accounts) is None:
        cut = milestones(timeline.entries, timeline.occurred, message.time, rest=UNTIL_CLOSED)
        return timeline.model_copy(update=closed | {"stages": cut, "wall_s": sum(stage.seconds for stage in cut)})
    lost = accounts.lost_steps if accounts.lost_steps is not None else timeline.lost_steps
    return timeline.model_copy(
        update=closed
        | {
            "stages": stages_of(accounts),
            "wall_s": accounts.wall_s,
            "lost_steps": lost,
            "estimated": accounts.estimated or timeline.estimated,
        }
    )
