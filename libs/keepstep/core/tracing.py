"""Which spans a message completes: its own, and with an incident's end that of the whole and those of its stages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, IncidentId
from keepstep.contracts.message import Message
from keepstep.contracts.subjects import speaker_of
from keepstep.contracts.taxonomy import Outcome
from keepstep.contracts.trace import HEADER, place_of, root_of, span_of, stage_of, trace_of
from keepstep.core.beginning import began
from keepstep.core.stages import stages_of

INCIDENTS, MESSAGES = 500, 500
"""Open incidents followed, and messages remembered of each; beyond them a span hangs on its incident's own."""
TRACED: tuple[type[Message], ...] = (
    e.CheckpointChosen, e.FaultDiagnosed, e.IncidentAcknowledged, e.IncidentClosed, e.IncidentOpened, e.IncidentOverdue,
    e.IsolationDeclined, e.DeviceIsolated, e.JobResumed, e.NodeIsolated, e.RanksStarted, e.RecoveryFailed,
    e.RecoveryPlanned, e.RecoveryStarted, e.TaskLost, e.TaskReleased, e.JobFailed, e.EvidenceCaptured,
)  # fmt: skip
"""What is said on the way of an incident."""


@dataclass(frozen=True)
class Span:
    """A part of an incident's time; ids in hexadecimal digits."""

    trace: str
    id: str
    parent: str | None
    service: str
    name: str
    begin: datetime
    end: datetime
    failed: bool = False
    facts: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """What was said of one open incident: message to the span that it is in and when it was said."""

    occurred: datetime
    said: Mapping[EventId, tuple[str, datetime]] = field(default_factory=dict)


Traces = Mapping[IncidentId, Known]


def tell(
    traces: Traces, message: Message, headers: Mapping[str, str], *, occurred: datetime | None = None
) -> tuple[Traces, tuple[Span, ...]]:
    """Return the open traces with one more message, and the spans that it completes.

    ``occurred`` is when the incident began, where that is known from elsewhere. A message of no incident, or of one
    whose end was told, completes none.
    """
    incident = message.incident
    if incident is None or not isinstance(message, TRACED):
        return traces, ()
    known = traces.get(incident) or Known(occurred or message.time)
    if isinstance(message, e.FaultDiagnosed):
        known = Known(began(message, known.occurred), known.said)
    place = place_of(headers.get(HEADER))
    own = place.span if place is not None and place.trace == trace_of(incident) else span_of(message.id)
    spans = (_said(message, incident, known, own),)
    if isinstance(message, e.IncidentClosed):
        left = {one: trace for one, trace in traces.items() if one != incident}
        return left, (*spans, *_closed(message, incident, known))
    said = dict(list({**known.said, message.id: (own, message.time)}.items())[-MESSAGES:])
    followed = {**traces, incident: Known(known.occurred, said)}
    return dict(list(followed.items())[-INCIDENTS:]), spans


def _said(message: Message, incident: IncidentId, known: Known, own: str) -> Span:
    """Return the message's span: from its cause, where that is of this incident, until it was said."""
    parent, begin = root_of(incident), message.time
    if message.cause is not None and message.cause in known.said:
        parent, begin = known.said[message.cause]
    name = type(message).__name__
    return Span(
        trace_of(incident), own, parent, speaker_of(message), name, min(begin, message.time), message.time,
        facts=_facts(message),
    )  # fmt: skip


def _closed(message: e.IncidentClosed, incident: IncidentId, known: Known) -> Iterable[Span]:
    """Yield the whole incident, and its stages one after the other."""
    accounts = message.accounts
    begin, end = min(known.occurred, message.time), message.time
    if accounts is not None:
        begin = message.time - timedelta(seconds=accounts.wall_s - accounts.recompute_s)
        end = begin + timedelta(seconds=accounts.wall_s)
    trace, root, who = trace_of(incident), root_of(incident), speaker_of(message)
    failed = message.outcome is Outcome.FAILED
    yield Span(trace, root, None, who, f"incident {message.category}", begin, end, failed, _facts(message))
    at = begin
    for stage in () if accounts is None else stages_of(accounts):
        stop = at + timedelta(seconds=stage.seconds)
        yield Span(trace, stage_of(incident, stage.name), root, who, stage.name, at, stop)
        at = stop


def _facts(message: Message) -> dict[str, str | int]:
    """Return what may be seen of a message by whoever sees traces: closed words and numbers, no line of a log."""
    facts: dict[str, str | int | None] = {
        "keepstep.incident": message.incident,
        "keepstep.pool": message.pool,
        "keepstep.job": None if message.job is None else message.job.name,
        "keepstep.node": message.node,
        "keepstep.generation": message.generation,
    }
    match message:
        case e.FaultDiagnosed():
            facts |= {"keepstep.category": message.verdict.category, "keepstep.rule": message.verdict.rule}
        case e.RecoveryPlanned() | e.RecoveryStarted() | e.RecoveryFailed() | e.JobResumed():
            facts |= {"keepstep.level": message.level, "keepstep.attempt": message.attempt}
        case e.IncidentClosed():
            facts |= {"keepstep.outcome": message.outcome, "keepstep.category": message.category}
        case _:
            pass
    return {key: value for key, value in facts.items() if value is not None}
