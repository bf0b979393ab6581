"""The two folds of the notifier: of a job, a node or the pool who is told what, of a channel when it goes out."""

from collections.abc import Iterable
from datetime import datetime

from keepstep.contracts.channels import Channel
from keepstep.contracts.events import (
    DeadLettered,
    DeadlinePassed,
    JobAccepted,
    JobDeleted,
    JobFound,
    NotificationDelayed,
    NotificationDelivered,
    NotificationDropped,
    NotificationQueued,
    channel_key,
)
from keepstep.contracts.events.notifier import CHANNEL_KEY
from keepstep.contracts.message import POOL_KEY, Message
from keepstep.contracts.orders import DrainNode, IsolateNode
from keepstep.core.decision import Deadline, Decision
from keepstep.core.forgetting import forget_at, is_time
from keepstep.notifier.core import escalation
from keepstep.notifier.core.given import Given
from keepstep.notifier.core.outgoing import decide as outgoing
from keepstep.notifier.core.outgoing.state import Bury, Outgoing, Send
from keepstep.notifier.core.state import Deliver, GiveUp, Notices
from keepstep.notifier.core.steps import STEPS
from keepstep.notifier.core.telling import escalated, heard
from keepstep.notifier.core.waiting import again, delayed, deliveries, due, ended, retries
from keepstep.notifier.core.words import words

OWN = (NotificationDelivered, NotificationDelayed, NotificationDropped, DeadlinePassed)
"""What this stage says to itself; where that finds no fold, it outlived it and leaves none behind."""


def hears(*, objects: bool = False) -> tuple[type[Message], ...]:
    """Return exactly the messages that have words, and those that steer this stage.

    ``objects``: and those that a cluster's objects are told of beside.
    """
    told = tuple(kind for kind in words.registry if kind not in (object, Message))
    steps = STEPS if objects else ()
    steering = (JobFound, JobAccepted, JobDeleted, IsolateNode, DrainNode, NotificationQueued, *OWN)
    return tuple(dict.fromkeys((*told, *steps, *steering)))


def channel_of(message: Message) -> str:
    """Return the channel in whose fold the message belongs, "" for one of a job, a node or the pool."""
    match message:
        case NotificationQueued() | NotificationDelivered() | NotificationDelayed() | NotificationDropped():
            return message.channel
        case DeadlinePassed() if message.scope.startswith(CHANNEL_KEY):
            return message.scope.removeprefix(CHANNEL_KEY)
        case _:
            return ""


def fold_key(message: Message) -> str | None:
    """Return the channel's key, else the message's own; None for what went out in a digest, of which that is told."""
    if isinstance(message, NotificationDelivered) and message.digest:
        return None
    if isinstance(message, DeadLettered):
        return POOL_KEY
    channel = channel_of(message)
    return channel_key(channel) if channel else message.key


def deadlines(fold: Notices) -> Iterable[Deadline]:
    """Return when messages are tried again or may go out, when nobody has answered, and what is quiet is forgotten."""
    if not fold.living and not fold.forgotten:
        yield from forget_at(fold.heard_at)
    yield from retries(fold)
    yield from escalation.deadlines(fold)
    if fold.outgoing is not None:
        yield from outgoing.deadlines(fold.outgoing)


def over(fold: Notices) -> bool:
    """Tell whether the fold may be dropped; what comes later of its job goes by the pool's routes."""
    return fold.forgotten and not fold.pending and (fold.outgoing is None or fold.outgoing.idle)


def effects(fold: Notices) -> Iterable[Deliver | GiveUp | Send | Bury]:
    """Return what is to be brought to its sink now."""
    yield from deliveries(fold)
    if fold.outgoing is not None:
        yield from outgoing.effects(fold.outgoing)


def decide(fold: Notices | None, message: Message, now: datetime, *, given: Given) -> Decision[Notices]:
    """Return the next fold, of a job, node or pool or of a channel, and what is to be said."""
    name = channel_of(message)
    if name:
        return _outgoing(fold, message, now, channel=given.channels.channel(name))
    state = fold or Notices(forgotten=isinstance(message, OWN))
    match message:
        case NotificationDelivered() | NotificationDropped():
            return Decision(ended(state, message))
        case NotificationDelayed():
            return delayed(state, message)
        case NotificationQueued():
            return again(state, message, now, (*(state.policy or given.pool).routes, *given.pool.routes))
        case DeadlinePassed():
            return _passed(state, message, now, given)
        case _:
            return heard(state, message, now, given)


def _passed(state: Notices, message: DeadlinePassed, now: datetime, given: Given) -> Decision[Notices]:
    climb = escalation.due(state, message)
    if climb is not None:
        return escalated(state, climb, max(now, message.due), given)
    if not state.living and is_time(message, state.heard_at):
        return Decision(state.model_copy(update={"forgotten": True}))
    return Decision(due(state, message))


def _outgoing(fold: Notices | None, message: Message, now: datetime, *, channel: Channel | None) -> Decision[Notices]:
    """Return the channel's fold after a word of its own; one that is idle for a day is forgotten."""
    if fold is None and not isinstance(message, NotificationQueued):
        return Decision(Notices(forgotten=True))
    state = fold or Notices()
    if isinstance(message, DeadlinePassed) and is_time(message, state.heard_at):
        return Decision(state.model_copy(update={"forgotten": True}))
    decision = outgoing.decide(state.outgoing or Outgoing(), message, now, channel)
    update = {"outgoing": decision.state, "heard_at": now, "forgotten": False}
    return Decision(state.model_copy(update=update), decision.says, decision.because)
