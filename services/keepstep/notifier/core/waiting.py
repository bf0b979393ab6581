"""Messages that wait for a sink which a rule names by its address, for the log, or for a cluster's objects.

An address holds a secret, so it is said nowhere and these wait in the fold of what they are about. What is given up
lies among the dead letters with a hash of the address, by which the rules find it when it is said again.
"""

from collections.abc import Iterable
from datetime import datetime

from keepstep.contracts.events import (
    DeadlinePassed,
    NotificationDelayed,
    NotificationDelivered,
    NotificationDropped,
    NotificationQueued,
)
from keepstep.contracts.ids import EventId, consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.notification import Route
from keepstep.core.decision import Deadline, Decision
from keepstep.core.sentences import counted
from keepstep.notifier.core.endings import mark
from keepstep.notifier.core.state import QUEUE, Deliver, GiveUp, Notices, Pending
from keepstep.notifier.core.tries import MOST_TRIES, ending_id

RETRY = "retry/"
NOWHERE = ""
"""The sink of a letter whose address no rule names."""


def retries(fold: Notices) -> Iterable[Deadline]:
    """Return when messages that did not get through are tried again."""
    return (Deadline(what=retry(one), due=one.again) for one in fold.pending if one.again is not None)


def deliveries(fold: Notices) -> Iterable[Deliver | GiveUp]:
    """Return the next message of each thread and sink, unless it waits for its next try, and what is given up."""
    busy: set[tuple[str, str]] = set()
    for one in fold.pending:
        lane = (one.thread, one.sink)
        if one.given_up:
            yield GiveUp(one)
            continue
        if lane not in busy and one.again is None:
            yield Deliver(one)
        busy.add(lane)


def retry(pending: Pending) -> str:
    """Return the name of the deadline at which it is tried again."""
    return f"{RETRY}{pending.place}/{pending.tries}"


def queued(state: Notices, waiting: tuple[Pending, ...]) -> Decision[Notices]:
    """Return the fold in which these wait for their sinks, or for the dead letters where there is no room for them."""
    room = max(0, QUEUE - sum(not one.given_up for one in state.pending))
    because = f"{QUEUE} messages wait already: the sink is away"
    taken = waiting[:room]
    lost = tuple(one.model_copy(update={"given_up": because}) for one in waiting[room:])
    told = f"{taken[0].title}: to {counted(len(taken), 'sink')}" if taken else ""
    return Decision(state.model_copy(update={"pending": (*state.pending, *taken, *lost)}), (), told)


def ended(state: Notices, message: NotificationDelivered | NotificationDropped) -> Notices:
    """Return the fold without the message that this ends."""
    kind = type(message).__name__
    done = next((one for one in state.pending if ending_id(kind, one) == message.id), None)
    return state if done is None else state.without(done)


def delayed(state: Notices, message: NotificationDelayed) -> Decision[Notices]:
    """Return the fold in which the message waits for its next try, or is given up after the last."""
    one = next((one for one in state.pending if one.id == message.notice), None)
    if one is None or message.tries <= one.tries:
        return Decision(state)
    if message.tries >= MOST_TRIES:
        because = f"{message.tries} tries failed, the last: {message.because}"
        return Decision(
            state.with_pending(one.model_copy(update={"given_up": because, "code": message.code})), (), because
        )
    later = one.model_copy(update={"tries": message.tries, "again": message.again})
    return Decision(state.with_pending(later))


def due(state: Notices, message: DeadlinePassed) -> Notices:
    """Return the fold in which the message whose moment this is may be tried again."""
    one = next((one for one in state.pending if retry(one) == message.what and one.again == message.due), None)
    return state if one is None else state.with_pending(one.model_copy(update={"again": None}))


def letter_of(pending: Pending) -> NotificationQueued:
    """Return it as it lies among the dead letters."""
    return NotificationQueued(
        id=consequence_id("NotificationQueued", EventId(pending.origin.id), subject=pending.place),
        **envelope(pending.origin, time=pending.since or pending.origin.time),
        channel="",
        address=mark(pending.sink),
        notice=pending.id,
        thread=pending.thread,
        sequence=pending.sequence,
        severity=pending.severity,
        weight=pending.weight,
        kind=pending.kind,
        stage=pending.stage,
        event=pending.event,
        at=pending.origin.time,
        subject=pending.subject,
        title=pending.title,
        text=pending.text,
        facts=pending.facts,
        links=pending.links,
    )


def again(state: Notices, said: NotificationQueued, now: datetime, routes: Iterable[Route]) -> Decision[Notices]:
    """Return the fold in which a dead letter of an address is tried once more, if a rule still names the address."""
    if any(one.id == said.notice for one in state.pending):
        return Decision(state)
    origin = Message(id=said.cause or said.id, **envelope(said, time=said.at, cause=None))
    sinks = {mark(sink): sink for route in routes for sink in (route.sink, *(step.sink for step in route.escalate))}
    pending = Pending(
        id=said.notice,
        origin=origin,
        sink=sinks.get(said.address, NOWHERE),
        given_up="" if said.address in sinks else "no rule names its address any more",
        thread=said.thread,
        sequence=said.sequence,
        severity=said.severity,
        weight=said.weight,
        title=said.title,
        text=said.text,
        facts=said.facts,
        kind=said.kind,
        stage=said.stage,
        event=said.event,
        subject=said.subject,
        links=said.links,
        since=now,
    )
    return queued(state.model_copy(update={"heard_at": now, "forgotten": False}), (pending,))
