"""Who is told what, once, in one thread per incident; and what becomes of messages that do not get through.

Messages of one storm are not merged: ``_queued`` is the one place where a message meets those that wait.
"""

from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatchcase

from keepstep.contracts.events import (
    DeadlinePassed,
    FaultDiagnosed,
    IsolationDeclined,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobStopRequested,
    JobSucceeded,
    NotificationDelayed,
    NotificationDelivered,
    NotificationDropped,
)
from keepstep.contracts.ids import derive
from keepstep.contracts.message import Message, Order, envelope
from keepstep.contracts.notification import NotificationPolicy, Route
from keepstep.contracts.orders import DrainNode, IsolateNode
from keepstep.contracts.taxonomy import Severity
from keepstep.core.decision import Deadline, Decision
from keepstep.core.forgetting import forget_at, is_time
from keepstep.core.sentences import counted
from keepstep.notifier.core.state import QUEUE, THREADS, TOLD, Deliver, Notices, Pending
from keepstep.notifier.core.steps import STEPS, step
from keepstep.notifier.core.tries import OBJECTS, dropped, ending_id, most_tries
from keepstep.notifier.core.words import Words, words
from keepstep.ports.sink import About

RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}
RETRY = "retry/"
OWN = (NotificationDelivered, NotificationDelayed, NotificationDropped, DeadlinePassed)
"""What this stage says to itself; where that finds no fold, it outlived it and leaves none behind."""


def hears(*, objects: bool = False) -> tuple[type[Message], ...]:
    """Return exactly the messages that have words, and those that steer this stage.

    ``objects``: and those that a cluster's objects are told of beside.
    """
    told = tuple(kind for kind in words.registry if kind not in (object, Message))
    steps = STEPS if objects else ()
    return tuple(dict.fromkeys((*told, *steps, JobAccepted, JobDeleted, IsolateNode, DrainNode, *OWN)))


def fold_key(message: Message) -> str:
    """Return the message's key, which its own notifications share."""
    return message.key


def deadlines(fold: Notices) -> Iterable[Deadline]:
    """Return when messages that did not get through are tried again, and when what is quiet is forgotten."""
    if not fold.living and not fold.forgotten:
        yield from forget_at(fold.heard_at)
    for one in fold.pending:
        if one.again is not None:
            yield Deadline(what=_retry(one), due=one.again)


def over(fold: Notices) -> bool:
    """Tell whether the fold may be dropped; what comes later of its job goes by the pool's routes."""
    return fold.forgotten and not fold.pending


def effects(fold: Notices) -> Iterable[Deliver]:
    """Return the next message of each thread and sink, unless it waits for its next try."""
    busy: set[tuple[str, str]] = set()
    for one in fold.pending:
        lane = (one.thread, one.sink)
        if lane not in busy and one.again is None:
            yield Deliver(one)
        busy.add(lane)


def _retry(pending: Pending) -> str:
    return f"{RETRY}{pending.id}/{pending.tries}"


def decide(
    fold: Notices | None, message: Message, now: datetime, *, pool: NotificationPolicy, objects: bool = False
) -> Decision[Notices]:
    """Return the next fold and what is to be said; ``pool`` has the routes of what belongs to no job.

    ``objects``: there is a cluster whose objects are told each step of an incident, whatever the routes are.
    """
    state = fold or Notices(forgotten=isinstance(message, OWN))
    match message:
        case NotificationDelivered() | NotificationDropped():
            return Decision(_ended(state, message))
        case NotificationDelayed():
            return _delayed(state, message, now)
        case DeadlinePassed():
            return Decision(_due(state, message))
        case _:
            return _heard(state, message, now, pool=pool, objects=objects)


def _heard(
    state: Notices, message: Message, now: datetime, *, pool: NotificationPolicy, objects: bool
) -> Decision[Notices]:
    if message.id in state.told:
        return Decision(state)
    state = _noted(state, message, now)
    if _expected(state, message):
        return Decision(state)
    said, thread = words(message), _thread(message)
    number = state.threads.get(thread, 0) + (said is not None)
    waiting: tuple[Pending, ...] = ()
    if said is not None:
        state = state.model_copy(update={"threads": _newest(state.threads, thread, number)})
        sinks = _sinks((state.policy or pool).routes, message, said)
        waiting = tuple(_pending(message, said, sink, (thread, number)) for sink in sinks)
    if objects and (told := step(message)) is not None:
        as_words = Words(told.severity, told.about.reason, told.text, told.facts)
        waiting = (*waiting, _pending(message, as_words, OBJECTS, (thread, number), about=told.about))
    return _queued(state, waiting, now)


def _noted(state: Notices, message: Message, now: datetime) -> Notices:
    """Return the fold that remembers this message and what later ones need of it."""
    told = (*state.told, message.id)[-TOLD:]
    update: dict[str, object] = {"told": told, "heard_at": now, "forgotten": False}
    match message:
        case JobAccepted():
            update |= {"policy": message.spec.policy.notification, "living": True}
        case JobSucceeded() | JobFailed() | JobStopRequested() | JobDeleted():
            update["living"] = False
        case FaultDiagnosed() if message.verdict.isolate:
            update["asked"] = (*state.asked, message.id)[-TOLD:]
        case Order():
            update["asked"] = (*state.asked, message.id)[-TOLD:]
        case _:
            pass
    return state.model_copy(update=update)


def _expected(state: Notices, message: Message) -> bool:
    """Tell whether it is no news: an isolation is declined that nobody asked for, of a cause that nobody shares."""
    return isinstance(message, IsolationDeclined) and message.cause not in state.asked and message.incidents < 2


def _thread(message: Message) -> str:
    return message.incident or message.key


def _newest(threads: dict[str, int], thread: str, number: int) -> dict[str, int]:
    kept = {name: last for name, last in threads.items() if name != thread} | {thread: number}
    return dict(list(kept.items())[-THREADS:])


def _sinks(routes: tuple[Route, ...], message: Message, said: Words) -> tuple[str, ...]:
    """Return the sinks of all routes that match, each once."""
    name = "" if message.job is None else message.job.name
    matching = (
        route.sink for route in routes if RANK[said.severity] >= RANK[route.minimum] and fnmatchcase(name, route.jobs)
    )
    return tuple(dict.fromkeys(matching))


def _pending(
    message: Message, said: Words, sink: str, place: tuple[str, int], *, about: About | None = None
) -> Pending:
    thread, number = place
    return Pending(
        id=derive("notice", message.id, sink),
        origin=Message(id=message.id, **envelope(message, cause=message.cause)),
        sink=sink,
        thread=thread,
        sequence=number,
        severity=said.severity,
        title=said.title,
        text=said.text,
        facts=said.facts,
        about=about,
    )


def _queued(state: Notices, waiting: tuple[Pending, ...], now: datetime) -> Decision[Notices]:
    room = max(0, QUEUE - len(state.pending))
    because = f"{QUEUE} messages wait already: the sink is away"
    says = tuple(dropped(one, because=because, now=now) for one in waiting[room:])
    taken = waiting[:room]
    told = f"{taken[0].title}: to {counted(len(taken), 'sink')}" if taken else ""
    return Decision(state.model_copy(update={"pending": (*state.pending, *taken)}), says, told)


def _ended(state: Notices, message: NotificationDelivered | NotificationDropped) -> Notices:
    kind = type(message).__name__
    done = next((one for one in state.pending if ending_id(kind, one) == message.id), None)
    return state if done is None else state.without(done)


def _delayed(state: Notices, message: NotificationDelayed, now: datetime) -> Decision[Notices]:
    one = next((one for one in state.pending if one.id == message.notice), None)
    if one is None or message.tries <= one.tries:
        return Decision(state)
    if message.tries >= most_tries(one):
        said = dropped(one, because=f"{message.tries} tries failed, the last: {message.because}", now=now)
        return Decision(state.without(one), (said,), said.because)
    later = one.model_copy(update={"tries": message.tries, "again": message.again})
    return Decision(state.with_pending(later))


def _due(state: Notices, message: DeadlinePassed) -> Notices:
    if not state.living and is_time(message, state.heard_at):
        return state.model_copy(update={"forgotten": True})
    one = next((one for one in state.pending if _retry(one) == message.what and one.again == message.due), None)
    return state if one is None else state.with_pending(one.model_copy(update={"again": None}))
