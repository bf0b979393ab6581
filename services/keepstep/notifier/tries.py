"""One try to bring a message to its sink, and what is said of it; a crash right after it tries again."""

from collections.abc import Iterable

from keepstep.contracts.events import DeadLettered
from keepstep.contracts.message import Message
from keepstep.notifier.core import Pending, delayed, delivered, dropped
from keepstep.notifier.core.outgoing import words
from keepstep.notifier.core.outgoing.digest import names_of, notice_of
from keepstep.notifier.core.outgoing.state import Dead, Sending, Waiting
from keepstep.notifier.sinks import Directory, Ways
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Permanent, Transient


async def tried(find: Directory, pending: Pending, clock: Clock) -> Message:
    """Return what became of one try at a sink that a rule names by its address; sinks get the notice's id."""
    try:
        await find(pending.sink).deliver(pending.notice)
    except Transient as error:
        return delayed(pending, because=str(error), retry_after=error.retry_after, now=clock.now())
    except Permanent as error:
        return dropped(pending, because=str(error), now=clock.now())
    return delivered(pending, now=clock.now())


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
    """Bury it, unless it tells of a dead letter itself: those would have letters without end."""
    if item.queued.event != DeadLettered.__name__:
        reason = f"channel {item.queued.channel}: {because}{f' (code {code})' if code else ''}"
        await ways.bury(item.queued.model_copy(update={"time": item.at}), reason)
    return words.dropped(item, because=because, code=code, now=clock.now())
