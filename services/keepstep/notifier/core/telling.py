"""Who is told what, once, in one thread per incident."""

from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from keepstep.contracts.events import (
    FaultDiagnosed,
    IncidentAcknowledged,
    IsolationDeclined,
    JobAccepted,
    JobDeleted,
    JobFailed,
    JobFound,
    JobStopRequested,
    JobSucceeded,
)
from keepstep.contracts.message import Message, Order
from keepstep.contracts.notification import NotificationPolicy, is_address
from keepstep.core.decision import Decision
from keepstep.core.sentences import counted
from keepstep.notifier.core import escalation
from keepstep.notifier.core.alerts import alert, category_of, once
from keepstep.notifier.core.given import Given
from keepstep.notifier.core.letters import Letter, by_address, by_channel, letter, links_of, namespace_of, timed
from keepstep.notifier.core.rules import Case, Recipient, recipients
from keepstep.notifier.core.state import THREADS, TOLD, Climb, Notices, Pending, Story
from keepstep.notifier.core.steps import step
from keepstep.notifier.core.tries import OBJECTS
from keepstep.notifier.core.waiting import queued
from keepstep.notifier.core.words import Words, words

V = TypeVar("V")
NAMES_NOBODY = NotificationPolicy()
"""Of a job whose owner wrote no rules: it goes by the pool's, or whoever is on call would never hear of it."""


def heard(state: Notices, message: Message, now: datetime, given: Given) -> Decision[Notices]:
    """Return the fold that has heard the message, and who is told of it."""
    if message.id in state.told:
        return Decision(state)
    state = _noted(state, message, now)
    said, thread = None if _expected(state, message) else words(message), _thread(message)
    news, mark = once(alert(message), thread=thread, hang_detection=state.hang_detection, told=state.alerted)
    if said is None or news is None:
        return _shown(state, message, given, ())
    number = state.threads.get(thread, 0) + 1
    state = _remembered(state, message, thread, number, mark)
    said = timed(said, message, state.stories.get(thread))
    one = letter(message, said, news, (thread, number), console=given.pages)
    return _sent(state, message, one, now, given)


def _sent(state: Notices, message: Message, one: Letter, now: datetime, given: Given) -> Decision[Notices]:
    """Return the fold with the message on its way to all whom the rules name, and to the cluster's objects."""
    found = recipients((state.policy or given.pool).routes, _case(state, message, one), now)
    climbs = escalation.climbing(state, one, found, now)
    alerted = tuple(dict.fromkeys((*state.alerted, *escalation.marks(one, found))))[-TOLD:]
    state = state.model_copy(update={"climbs": climbs, "alerted": alerted})
    waiting = tuple(by_address(one, to.sink) for to in found if is_address(to.sink))
    says = tuple(by_channel(one, to, now) for to in found if not is_address(to.sink))
    shown = _shown(state, message, given, waiting)
    return Decision(shown.state, (*says, *shown.says), _told(one, len(found)) or shown.because)


def _shown(state: Notices, message: Message, given: Given, waiting: tuple[Pending, ...]) -> Decision[Notices]:
    """Return the fold with what waits for addresses in it, and what the cluster's objects are told."""
    told = step(message) if given.objects and not _expected(state, message) else None
    if told is not None:
        as_words = Words(told.severity, told.about.reason, told.text, told.facts)
        thread = _thread(message)
        place = (thread, state.threads.get(thread, 0))
        one = letter(message, as_words, alert(message), place, console="")
        waiting = (*waiting, by_address(one, OBJECTS, about=told.about))
    return queued(state, waiting)


def _told(one: Letter, sinks: int) -> str:
    return f"{one.words.title}: to {counted(sinks, 'sink')}" if sinks else ""


def escalated(state: Notices, climb: Climb, now: datetime, given: Given) -> Decision[Notices]:
    """Return the fold in which a step of an escalation is done, and who is told."""
    number = state.threads.get(climb.thread, 0) + 1
    left = tuple(one for one in state.climbs if one.id != climb.id)
    threads = _newest(state.threads, climb.thread, number)
    state = state.model_copy(update={"climbs": left, "threads": threads})
    one = replace(escalation.escalated(climb, number, now), links=links_of(climb.origin, given.pages))
    if is_address(climb.sink):
        return queued(state, (by_address(one, climb.sink),))
    return Decision(state, (by_channel(one, Recipient(climb.sink, climb.mention), now),), one.words.title)


def _case(state: Notices, message: Message, one: Letter) -> Case:
    """Return what rules look at."""
    story = state.stories.get(one.thread)
    return Case(
        one.words.severity,
        one.alert.kinds,
        one.alert.stage,
        message.pool,
        job="" if message.job is None else message.job.name,
        namespace=state.namespace,
        labels=state.labels,
        category=category_of(message) or (None if story is None else story.category),
    )


def _noted(state: Notices, message: Message, now: datetime) -> Notices:
    """Return the fold that remembers this message and what later ones need of it."""
    told = (*state.told, message.id)[-TOLD:]
    update: dict[str, object] = {"told": told, "heard_at": now, "forgotten": False}
    match message:
        case JobFound():
            update |= {"namespace": namespace_of(message.kind), "labels": message.labels}
        case JobAccepted():
            policy = message.spec.policy
            own = policy.notification
            update |= {"policy": None if own == NAMES_NOBODY else own, "living": True}
            update |= {"hang_detection": policy.detection.hang_detection}
            update |= {"labels": {**state.labels, **message.spec.labels}}
        case JobSucceeded() | JobFailed() | JobStopRequested() | JobDeleted():
            update["living"] = False
        case FaultDiagnosed() if message.verdict.isolate:
            update["asked"] = (*state.asked, message.id)[-TOLD:]
        case Order():
            update["asked"] = (*state.asked, message.id)[-TOLD:]
        case _:
            pass
    update["climbs"] = escalation.settled(state.climbs, message)
    return state.model_copy(update=update)


def _remembered(state: Notices, message: Message, thread: str, number: int, mark: str) -> Notices:
    """Return the fold with the message's number in its thread, and what is known of that."""
    update: dict[str, object] = {"threads": _newest(state.threads, thread, number)}
    if mark:
        update["alerted"] = (*state.alerted, mark)[-TOLD:]
    if message.incident is not None:
        story = state.stories.get(thread) or Story(opened=message.time)
        changes = {"category": category_of(message) or story.category}
        acknowledged = story.acknowledged or isinstance(message, IncidentAcknowledged)
        story = story.model_copy(update=changes | {"acknowledged": acknowledged})
        update["stories"] = _newest(state.stories, thread, story)
    return state.model_copy(update=update)


def _expected(state: Notices, message: Message) -> bool:
    """Tell whether it is no news: an isolation is declined that nobody asked for, of a cause that nobody shares."""
    return isinstance(message, IsolationDeclined) and message.cause not in state.asked and message.incidents < 2


def _thread(message: Message) -> str:
    return message.incident or message.key


def _newest(kept: dict[str, V], name: str, value: V) -> dict[str, V]:
    """Return them with this one, of them the newest."""
    left = {other: each for other, each in kept.items() if other != name} | {name: value}
    return dict(list(left.items())[-THREADS:])
