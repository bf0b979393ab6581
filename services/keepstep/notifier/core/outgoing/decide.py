"""When the messages of one channel go out: one call at a time, within its limits, in its quiet hours not at all.

Pure, as everything here: what the channels file says comes as an argument. A channel that is not in the file is called
all the same, so that whoever acts finds out, says which name it is, and puts the message among the dead letters.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from keepstep.contracts.channel_parts import Limit, Spoken
from keepstep.contracts.events import (
    DeadlinePassed,
    NotificationDelayed,
    NotificationDelivered,
    NotificationDropped,
    NotificationQueued,
)
from keepstep.contracts.message import Message
from keepstep.core.decision import Deadline, Decision
from keepstep.core.sentences import counted
from keepstep.notifier.core.outgoing import pace
from keepstep.notifier.core.outgoing.arrival import QUIET, arrived, in_turn
from keepstep.notifier.core.outgoing.digest import batch_id, chosen, number_of, sent_with
from keepstep.notifier.core.outgoing.state import (
    Bury,
    Dead,
    Outgoing,
    Send,
    Sending,
    Waiting,
)
from keepstep.notifier.core.outgoing.words import each_delivered
from keepstep.notifier.core.quiet import held_until

SENDS = "send"
AGAIN = "again/"
GIVEN_UP = timedelta(hours=1)
"""How long a message is tried: a vendor's bad hour loses nothing, and an older one helps nobody on call."""
LOOK_AGAIN = timedelta(minutes=15)
"""Quiet hours may be taken out of the file meanwhile; so often it is looked whether they still hold."""
MOST_CALLS = 600
"""Calls remembered: above ten a second nobody counts."""
UNKNOWN = Limit(per_minute=60)
"""Of a channel that is not in the file."""


def deadlines(out: Outgoing) -> Iterable[Deadline]:
    """Return when the next message may go out, and when the one on its way is tried again."""
    if out.wake is not None:
        yield Deadline(what=SENDS, due=out.wake)
    if out.sending is not None and out.sending.again is not None:
        yield Deadline(what=_again(out.sending), due=out.sending.again)


def effects(out: Outgoing) -> Iterable[Send | Bury]:
    """Return the call that is to be made now, and what goes to the dead letters."""
    if out.sending is not None and out.sending.again is None:
        yield Send(out.sending)
    yield from (Bury(dead) for dead in out.dead)


def decide(out: Outgoing, message: Message, now: datetime, channel: Spoken | None) -> Decision[Outgoing]:
    """Return the queue after this message of its channel, and what is to be said; without ``channel`` it is unknown."""
    says: tuple[Message, ...] = ()
    because = ""
    match message:
        case NotificationQueued():
            out, because = arrived(out, message, now, channel)
        case NotificationDelivered() if out.sending is not None and message.notice == out.sending.id:
            says = tuple(each_delivered(message, out.sending, now))
            sent = sent_with(out.sending.items, out.sent)
            out = _called(out, now, message.calls).model_copy(update={"sending": None, "sent": sent})
        case NotificationDelayed() if out.sending is not None and message.notice == out.sending.id:
            out, because = _delayed(out, out.sending, message, now, channel)
        case NotificationDropped():
            out = _dropped(out, message, now)
        case DeadlinePassed():
            now = max(now, message.due)
            out = _passed(out, message, now, channel)
        case _:
            return Decision(out)
    out, told = _sending(out, now, channel)
    return Decision(out, says, told or because)


def _again(sending: Sending) -> str:
    return f"{AGAIN}{sending.id}/{sending.tries}"


def _called(out: Outgoing, now: datetime, times: int = 1) -> Outgoing:
    calls = (*pace.recent(out.calls, now), *(now for _ in range(times)))
    return out.model_copy(update={"calls": calls[-MOST_CALLS:]})


def _delayed(
    out: Outgoing, sending: Sending, message: NotificationDelayed, now: datetime, channel: Spoken | None
) -> tuple[Outgoing, str]:
    """Return the queue after a try that failed: tried again within the limits, or given up after an hour of it."""
    if message.tries <= sending.tries:
        return out, ""
    out = _called(out, now, message.calls)
    if now - sending.since >= GIVEN_UP:
        because = f"{message.tries} tries failed within an hour, the last: {message.because}"
        dead = tuple(Dead(item=item, because=because, code=message.code) for item in sending.items)
        return out.model_copy(update={"sending": None, "dead": (*out.dead, *dead)}), because
    again = max(message.again, pace.next_call(out.calls, _limit(channel), now))
    later = sending.model_copy(update={"tries": message.tries, "again": again})
    return out.model_copy(update={"sending": later}), ""


def _dropped(out: Outgoing, message: NotificationDropped, now: datetime) -> Outgoing:
    """Return the queue without the message; sent again from the dead letters it is a new one."""
    sending, notice = out.sending, message.notice
    update: dict[str, object] = {
        "known": tuple(one for one in out.known if one != notice),
        "dead": tuple(dead for dead in out.dead if dead.item.queued.notice != notice),
        "threads": tuple(one for one in out.threads if one != _thread(out, notice)),
    }
    if sending is not None and any(item.queued.notice == notice for item in sending.items):
        left = tuple(item for item in sending.items if item.queued.notice != notice)
        update["sending"] = sending.model_copy(update={"items": left}) if left else None
        out = out if left else _called(out, now)
    return out.model_copy(update=update)


def _thread(out: Outgoing, notice: str) -> str:
    items = (*(dead.item for dead in out.dead), *(out.sending.items if out.sending is not None else ()))
    return next((item.queued.thread for item in items if item.queued.notice == notice), "")


def _passed(out: Outgoing, message: DeadlinePassed, now: datetime, channel: Spoken | None) -> Outgoing:
    """Return the queue with the next try on its way, or back in the queue if quiet hours keep all of it by now."""
    sending = out.sending
    if sending is None or (message.what, message.due) != (_again(sending), sending.again):
        return out
    quiet = () if channel is None else channel.quiet
    if all(held_until(quiet, item.queued.loudness, now) is not None for item in sending.items):
        return out.model_copy(update={"sending": None, "waiting": (*sending.items, *out.waiting)})
    return out.model_copy(update={"sending": sending.model_copy(update={"again": None})})


def _limit(channel: Spoken | None) -> Limit:
    return UNKNOWN if channel is None else channel.limit


def _sending(out: Outgoing, now: datetime, channel: Spoken | None) -> tuple[Outgoing, str]:
    """Return the queue with the next call on its way, or with the moment at which one may be made."""
    out = out.model_copy(update={"wake": None})
    if out.sending is not None:
        return out, ""
    out = in_turn(_at_hours(_taken(out, channel), now, channel))
    if not out.waiting:
        return out, ""
    due = [item for item in out.waiting if item.due <= now]
    at = pace.next_call(out.calls, _limit(channel), now) if due else min(item.due for item in out.waiting)
    if at > now:
        return out.model_copy(update={"wake": min(at, now + LOOK_AGAIN)}), ""
    items = _batch(due, pace.alone(out.calls, _limit(channel), now))
    gone = {item.queued.notice for item in items}
    sending = Sending(id=batch_id(items), items=items, since=now, number=number_of(items, out.sent))
    kept = tuple(item for item in out.waiting if item.queued.notice not in gone)
    told = f"{counted(len(items), 'message')} to channel {items[0].queued.channel}, {len(kept)} wait"
    return out.model_copy(update={"waiting": kept, "sending": sending}), told


def _taken(out: Outgoing, channel: Spoken | None) -> Outgoing:
    """Return the queue without what the channel takes no more, because the file says so since."""
    if channel is None:
        return out
    return out.model_copy(
        update={"waiting": tuple(item for item in out.waiting if channel.takes(item.queued.loudness))}
    )


def _batch(due: list[Waiting], alone: int) -> tuple[Waiting, ...]:
    """Return what goes out now: the oldest by itself while there is room for all, else the most urgent together."""
    lot = due[0].lot
    if lot:
        return chosen([item for item in due if item.lot == lot])
    return (due[0],) if len(due) <= max(1, alone) else chosen(due)


def _at_hours(out: Outgoing, now: datetime, channel: Spoken | None) -> Outgoing:
    """Return the queue as quiet hours have it now: they may be new in the file or gone, or have begun in an outage."""
    if channel is None:
        return out

    def judged(item: Waiting) -> Waiting:
        held = held_until(channel.quiet, item.queued.loudness, now)
        if held is None and item.lot != QUIET:
            return item
        moment = max((each for each in (item.queued.hold, held) if each is not None), default=now)
        return item.model_copy(update={"due": moment, "lot": QUIET})

    return out.model_copy(update={"waiting": tuple(judged(item) for item in out.waiting)})
