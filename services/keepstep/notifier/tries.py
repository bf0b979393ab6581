"""One try to bring a message to its sink, and what is said of it; a crash right after it tries again."""

from collections.abc import Iterable

from keepstep.contracts.events import DeadLettered, NotificationQueued
from keepstep.contracts.message import Message
from keepstep.notifier.core import OBJECTS, Pending, delayed, delivered, dropped, letter_of
from keepstep.notifier.core.outgoing import words
from keepstep.notifier.core.outgoing.digest import names_of, notice_of
from keepstep.notifier.core.outgoing.state import Dead, Sending, Waiting
from keepstep.notifier.sinks import Directory, Ways
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Permanent, Transient


async def tried(find: Directory, ways: Ways, pending: Pending, clock: Clock) -> Message:
    """Return what became of one try at a sink that a rule names by its address; sinks get the notice's id."""
    try:
        receipt = await find(pending.sink).deliver(pending.notice)
    except Transient as error:
        because, pause = str(error), error.retry_after
        return delayed(pending, because=because, code=error.code, retry_after=pause, now=clock.now())
    except Permanent as error:
        return await given_up(ways, pending, str(error), error.code, clock)
    return delivered(pending, receipt, now=clock.now())


async def given_up(ways: Ways, pending: Pending, because: str, code: str, clock: Clock) -> Message:
    """Bury it, unless it is for a cluster's objects, where Events live an hour anyway."""
    if pending.sink != OBJECTS:
        await _bury(ways, letter_of(pending), _reason(because, code))
    return dropped(pending, because=because, code=code, now=clock.now())


async def sent(ways: Ways, sending: Sending, clock: Clock) -> Iterable[Message]:
    """Return what became of one try at a channel; what it will never take lies among the dead letters then."""
    name = sending.items[0].queued.channel
    notice = notice_of(sending, ways.channels().mentions(name, names_of(sending)))
    try:
        receipt = await ways.find(name).deliver(notice)
    except Transient as error:
        return (
            words.delayed(sending, because=str(error), code=error.code, retry_after=error.retry_after, now=clock.now()),
        )
    except Permanent as error:
        return [await _given_up(ways, item, str(error), error.code, clock) for item in sending.items]
    return (words.delivered(sending, receipt, clock.now()),)


async def buried(ways: Ways, dead: Dead, clock: Clock) -> Message:
    """Put a message that was given up among the dead letters, and return that."""
    return await _given_up(ways, dead.item, dead.because, dead.code, clock)


async def _given_up(ways: Ways, item: Waiting, because: str, code: str, clock: Clock) -> Message:
    reason = f"channel {item.queued.channel}: {_reason(because, code)}"
    await _bury(ways, item.queued.model_copy(update={"time": item.at}), reason)
    return words.dropped(item, because=because, code=code, now=clock.now())


async def _bury(ways: Ways, letter: NotificationQueued, reason: str) -> None:
    """Bury it, unless it tells of a dead letter itself: those would have letters without end."""
    if letter.event != DeadLettered.__name__:
        await ways.bury(letter, reason)


def _reason(because: str, code: str) -> str:
    return f"{because}{f' (code {code})' if code else ''}"
