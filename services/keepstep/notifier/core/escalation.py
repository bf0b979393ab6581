"""Who is told beside when nobody acknowledges an incident: durable deadlines that an acknowledgement takes away."""

from collections.abc import Iterable
from datetime import datetime

from keepstep.contracts.events import DeadlinePassed, IncidentAcknowledged, IncidentClosed
from keepstep.contracts.ids import EventId, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import AlertKind, Outcome, Severity, Stage
from keepstep.core.decision import Deadline
from keepstep.notifier.core.alerts import Alert
from keepstep.notifier.core.endings import ENDS
from keepstep.notifier.core.letters import Letter
from keepstep.notifier.core.rules import Recipient
from keepstep.notifier.core.state import Climb, Notices
from keepstep.notifier.core.words import Words

CLIMB = "escalate/"
ESCALATED = "Escalated"
"""What is told: no message of the stream, but that none came."""
SETTLED = ENDS - {Stage.FAILED}
"""What needs nobody any more; a job that failed does."""
MOST_CLIMBS = 256
"""Steps that one job or node has open at once: the oldest give way, of a storm nobody reads every one."""


def climbing(state: Notices, told: Letter, recipients: Iterable[Recipient], now: datetime) -> tuple[Climb, ...]:
    """Return all steps that are open with those of this message; an incident's first one for a sink begins them."""
    story = state.stories.get(told.thread)
    if told.origin.incident is None or story is None or story.acknowledged or told.alert.stage in SETTLED:
        return state.climbs
    begun = {climb.id for climb in state.climbs}
    fresh = (
        Climb(
            id=_id(told.thread, to.sink, number),
            thread=told.thread,
            sink=step.sink or to.sink,
            mention=step.mention,
            due=now + step.after,
            since=now,
            title=told.words.title,
            origin=told.origin,
        )
        for to in recipients
        if _mark(told, to) not in state.alerted
        for number, step in enumerate(to.escalate, start=1)
    )
    return (*state.climbs, *(climb for climb in fresh if climb.id not in begun))[-MOST_CLIMBS:]


def marks(told: Letter, recipients: Iterable[Recipient]) -> tuple[str, ...]:
    """Return what to remember so that no sink's escalation of one incident begins twice."""
    return tuple(_mark(told, to) for to in recipients if to.escalate)


def settled(climbs: tuple[Climb, ...], message: Message) -> tuple[Climb, ...]:
    """Return the steps that are still open after this message."""
    match message:
        case IncidentAcknowledged():
            over = message.incident
        case IncidentClosed() if message.outcome is not Outcome.FAILED:
            over = message.incident
        case _:
            return climbs
    return tuple(climb for climb in climbs if climb.thread != over)


def deadlines(state: Notices) -> Iterable[Deadline]:
    """Return when each open step is due."""
    return (Deadline(what=f"{CLIMB}{climb.id}", due=climb.due) for climb in state.climbs)


def due(state: Notices, message: DeadlinePassed) -> Climb | None:
    """Return the step whose moment this is, if nothing has stopped it."""
    return next((one for one in state.climbs if (f"{CLIMB}{one.id}", one.due) == (message.what, message.due)), None)


def escalated(climb: Climb, number: int, now: datetime) -> Letter:
    """Return what is told at a step."""
    minutes = max(1, round((now - climb.since).total_seconds() / 60))
    words = Words(
        Severity.CRITICAL,
        f"Nobody has acknowledged: {climb.title}",
        f"for {minutes} min; keepstep incident ack {climb.thread[:12]} stops this",
        (("incident", climb.thread),),
    )
    origin = climb.origin.model_copy(update={"id": EventId(climb.id), "time": now})
    alert = Alert((AlertKind.TOLERANCE,), Stage.ESCALATED)
    return Letter(origin, ESCALATED, words, alert, climb.thread, number)


def _mark(told: Letter, to: Recipient) -> str:
    return f"climb/{told.thread}/{to.sink}"


def _id(thread: str, sink: str, number: int) -> str:
    return derive("climb", thread, sink, number)
