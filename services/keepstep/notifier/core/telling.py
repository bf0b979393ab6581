"""Who is told what, once, in one thread per incident."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from keepstep.contracts.events import (
    DeadLettered,
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
from keepstep.core import sentences
from keepstep.core.beginning import began
from keepstep.core.decision import Decision
from keepstep.notifier.core import escalation
from keepstep.notifier.core.alerts import alert, category_of, once
from keepstep.notifier.core.dead_letters import counted, is_broken, is_loss, of_pool
from keepstep.notifier.core.endings import UNTOLD, is_last, mark, told_to
from keepstep.notifier.core.given import Given
from keepstep.notifier.core.letters import (
    Letter,
    by_address,
    by_channel,
    letter,
    links_of,
    namespace_of,
    numbered,
    timed,
)
from keepstep.notifier.core.rules import Case, Recipient, recipients
from keepstep.notifier.core.state import THREADS, TOLD, Climb, Notices, Pending, Story
from keepstep.notifier.core.steps import step
from keepstep.notifier.core.tries import OBJECTS
from keepstep.notifier.core.waiting import queued
from keepstep.notifier.core.words import Words, words

V = TypeVar("V")
ANY = ""
"""Any address, of threads from before each was counted."""
NAMES_NOBODY = NotificationPolicy()
"""Of a job whose owner wrote no rules: it goes by the pool's, or whoever is on call would never hear of it."""


def heard(state: Notices, message: Message, now: datetime, given: Given) -> Decision[Notices]:
    """Return the fold that has heard the message, and who is told of it."""
    if message.id in state.told:
        return Decision(state)
    return (
        _lost(state, of_pool(message), now, given)
        if isinstance(message, DeadLettered)
        else _said(state, message, now, given)
    )


def _said(state: Notices, message: Message, now: datetime, given: Given, *, count: int = 1) -> Decision[Notices]:
    """Return what follows from one message; ``count``: it is the last of so many that say the same."""
    state = _noted(state, message, now)
    said, thread = None if _expected(state, message) else words(message), _thread(message)
    news, mark = once(alert(message), thread=thread, hang_detection=state.hang_detection, told=state.alerted)
    if said is None or news is None:
        return _shown(state, message, given, ())
    number = state.threads.get(thread, 0) + 1
    state = _remembered(state, message, thread, number, mark)
    said = numbered(timed(said, message, state.stories.get(thread)), count)
    one = letter(message, said, news, (thread, number), console=given.pages)
    return _sent(state, message, one, now, given)


def _lost(state: Notices, message: DeadLettered, now: datetime, given: Given) -> Decision[Notices]:
    """Return the fold that has heard of a dead letter, and who is told; of a channel's that is known nobody is."""
    if not is_loss(message):
        return _said(state, message, now, given)
    counting, count = counted(state, message, now)
    return _said(counting, message, now, given, count=count) if count else Decision(_noted(counting, message, now))


def _sent(state: Notices, message: Message, one: Letter, now: datetime, given: Given) -> Decision[Notices]:
    """Return the fold with the message on its way to all whom the rules name, and to the cluster's objects."""
    told = state.audiences.get(one.thread, UNTOLD)
    found = recipients((state.policy or given.pool).routes, _case(state, message, one), now, told=told)
    found = tuple(to for to in found if not is_broken(message, to.sink))
    state = _listened(state, one, tuple(to.sink for to in found if to.follows))
    climbs = escalation.climbing(state, one, found, now)
    alerted = tuple(dict.fromkeys((*state.alerted, *escalation.marks(one, found))))[-TOLD:]
    state = state.model_copy(update={"climbs": climbs, "alerted": alerted})
    addresses = tuple(to for to in found if is_address(to.sink))
    state, numbers = _counted(state, one.thread, tuple(to.sink for to in addresses))
    waiting = tuple(
        by_address(replace(one, number=number), to.sink, weight=to.weight)
        for to, number in zip(addresses, numbers, strict=True)
    )
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
    return f"{one.words.title}: to {sentences.counted(sinks, 'sink')}" if sinks else ""


def escalated(state: Notices, climb: Climb, now: datetime, given: Given) -> Decision[Notices]:
    """Return the fold in which a step of an escalation is done, and who is told."""
    number = state.threads.get(climb.thread, 0) + 1
    left = tuple(one for one in state.climbs if one.id != climb.id)
    threads = _newest(state.threads, climb.thread, number)
    state = state.model_copy(update={"climbs": left, "threads": threads})
    one = replace(escalation.escalated(climb, number, now), links=links_of(climb.origin, given.pages))
    state = _listened(state, one, (climb.sink,))
    if is_address(climb.sink):
        state, (number,) = _counted(state, one.thread, (climb.sink,))
        return queued(state, (by_address(replace(one, number=number), climb.sink),))
    return Decision(state, (by_channel(one, Recipient(climb.sink, climb.mention), now),), one.words.title)


def _counted(state: Notices, thread: str, sinks: tuple[str, ...]) -> tuple[Notices, tuple[int, ...]]:
    """Return the fold in which one more message of the thread goes to these addresses, and which it is to each."""
    known = state.addressed or {}
    had = known.get(thread, {})
    has = {mark(sink): had.get(mark(sink), had.get(ANY, 0)) + 1 for sink in sinks}
    if not has:
        return state, ()
    addressed = _newest(known, thread, {**had, **has})
    return state.model_copy(update={"addressed": addressed}), tuple(has[mark(sink)] for sink in sinks)


def _listened(state: Notices, one: Letter, sinks: Sequence[str]) -> Notices:
    """Return the fold that remembers who is to be told how the thread ends, until it has."""
    incident = one.origin.incident is not None
    left = {thread: told for thread, told in state.audiences.items() if thread != one.thread}
    if is_last(one.alert.stage, incident=incident):
        return state.model_copy(update={"audiences": left})
    told = told_to(state.audiences.get(one.thread, UNTOLD), sinks, one.words.severity)
    return state.model_copy(update={"audiences": _newest(left, one.thread, told)}) if told else state


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


def _remembered(state: Notices, message: Message, thread: str, number: int, once_mark: str) -> Notices:
    """Return the fold with the message's number in its thread, and what is known of that."""
    update: dict[str, object] = {"threads": _newest(state.threads, thread, number)}
    if state.addressed is None:
        update["addressed"] = {name: {ANY: count} for name, count in state.threads.items()}
    if once_mark:
        update["alerted"] = (*state.alerted, once_mark)[-TOLD:]
    if message.incident == thread:
        story = state.stories.get(thread) or Story(opened=began(message))
        changes = {"category": category_of(message) or story.category, "opened": began(message, story.opened)}
        acknowledged = story.acknowledged or isinstance(message, IncidentAcknowledged)
        story = story.model_copy(update=changes | {"acknowledged": acknowledged})
        update["stories"] = _newest(state.stories, thread, story)
    return state.model_copy(update=update)


def _expected(state: Notices, message: Message) -> bool:
    """Tell whether it is no news: an isolation is declined that nobody asked for, of a cause that nobody shares."""
    return isinstance(message, IsolationDeclined) and message.cause not in state.asked and message.incidents < 2


def _thread(message: Message) -> str:
    return message.key if isinstance(message, DeadLettered) else message.incident or message.key


def _newest(kept: dict[str, V], name: str, value: V) -> dict[str, V]:
    """Return them with this one, of them the newest."""
    left = {other: each for other, each in kept.items() if other != name} | {name: value}
    return dict(list(left.items())[-THREADS:])
