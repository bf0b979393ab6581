"""Messages that wait for a sink which a rule names by its address, for the log, or for a cluster's objects.

An address holds a secret, so it is said nowhere and these wait in the fold of what they are about.
"""

from collections.abc import Iterable
from datetime import datetime

from keepstep.contracts.events import (
    DeadlinePassed,
    NotificationDelayed,
    NotificationDelivered,
    NotificationDropped,
)
from keepstep.core.decision import Deadline, Decision
from keepstep.core.sentences import counted
from keepstep.notifier.core.state import QUEUE, Deliver, Notices, Pending
from keepstep.notifier.core.tries import dropped, ending_id, most_tries

RETRY = "retry/"


def retries(fold: Notices) -> Iterable[Deadline]:
    """Return when messages that did not get through are tried again."""
    return (Deadline(what=retry(one), due=one.again) for one in fold.pending if one.again is not None)


def deliveries(fold: Notices) -> Iterable[Deliver]:
    """Return the next message of each thread and sink, unless it waits for its next try."""
    busy: set[tuple[str, str]] = set()
    for one in fold.pending:
        lane = (one.thread, one.sink)
        if lane not in busy and one.again is None:
            yield Deliver(one)
        busy.add(lane)


def retry(pending: Pending) -> str:
    """Return the name of the deadline at which it is tried again."""
    return f"{RETRY}{pending.id}/{pending.tries}"


def queued(state: Notices, waiting: tuple[Pending, ...], now: datetime) -> Decision[Notices]:
    """Return the fold in which these wait for their sinks, as far as there is room for them."""
    room = max(0, QUEUE - len(state.pending))
    because = f"{QUEUE} messages wait already: the sink is away"
    says = tuple(dropped(one, because=because, now=now) for one in waiting[room:])
    taken = waiting[:room]
    told = f"{taken[0].title}: to {counted(len(taken), 'sink')}" if taken else ""
    return Decision(state.model_copy(update={"pending": (*state.pending, *taken)}), says, told)


def ended(state: Notices, message: NotificationDelivered | NotificationDropped) -> Notices:
    """Return the fold without the message that this ends."""
    kind = type(message).__name__
    done = next((one for one in state.pending if ending_id(kind, one) == message.id), None)
    return state if done is None else state.without(done)


def delayed(state: Notices, message: NotificationDelayed, now: datetime) -> Decision[Notices]:
    """Return the fold in which the message waits for its next try, or is given up after the last."""
    one = next((one for one in state.pending if one.id == message.notice), None)
    if one is None or message.tries <= one.tries:
        return Decision(state)
    if message.tries >= most_tries(one):
        said = dropped(one, because=f"{message.tries} tries failed, the last: {message.because}", now=now)
        return Decision(state.without(one), (said,), said.because)
    later = one.model_copy(update={"tries": message.tries, "again": message.again})
    return Decision(state.with_pending(later))


def due(state: Notices, message: DeadlinePassed) -> Notices:
    """Return the fold in which the message whose moment this is may be tried again."""
    one = next((one for one in state.pending if retry(one) == message.what and one.again == message.due), None)
    return state if one is None else state.with_pending(one.model_copy(update={"again": None}))
