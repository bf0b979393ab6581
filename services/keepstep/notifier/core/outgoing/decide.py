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
from keepstep.contracts.taxonomy import Severity
from keepstep.core.decision import Deadline, Decision
from keepstep.core.sentences import counted
from keepstep.notifier.core.outgoing import pace
from keepstep.notifier.core.outgoing.digest import batch_id, chosen
from keepstep.notifier.core.outgoing.state import (
    REMEMBERED,
    ROOM,
    WHOLE,
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
QUIET = "quiet"
GATHER = "gather/"
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
            out, because = _queued(out, message, now, channel)
        case NotificationDelivered() if out.sending is not None and message.notice == out.sending.id:
            says = tuple(each_delivered(message, out.sending, now))
            out = _called(out, now, message.calls).model_copy(update={"sending": None})
        case NotificationDelayed() if out.sending is not None and message.notice == out.sending.id:
            out, because = _delayed(out, out.sending, message, now, channel)
        case NotificationDropped():
            out = _dropped(out, message, now)
        case DeadlinePassed():
            now = max(now, message.due)
            out = _passed(out, message)
        case _:
            return Decision(out)
    out, sent = _sending(out, now, channel)
    return Decision(out, says, sent or because)


def _again(sending: Sending) -> str:
    return f"{AGAIN}{sending.id}/{sending.tries}"


def _queued(out: Outgoing, queued: NotificationQueued, now: datetime, channel: Spoken | None) -> tuple[Outgoing, str]:
    """Return the queue with the message in it, unless it is there or not for this channel."""
    if queued.notice in out.known:
        return out, ""
    out = out.model_copy(update={"known": (*out.known, queued.notice)[-REMEMBERED:]})
    if channel is not None and (why := _unwanted(out, queued, channel)):
        return out, why
    threads = (*(one for one in out.threads if one != queued.thread), queued.thread)[-REMEMBERED:]
    item = _waiting(queued, now, channel, out)
    if len(out.waiting) >= ROOM:
        dead = Dead(item=item, because=f"{counted(ROOM, 'message')} wait already for channel {queued.channel}")
        return out.model_copy(update={"dead": (*out.dead, dead)}), dead.because
    return out.model_copy(update={"threads": threads, "waiting": (*out.waiting, item)}), ""


def _unwanted(out: Outgoing, queued: NotificationQueued, channel: Spoken) -> str:
    """Return why the channel takes none of this, "" if it does."""
    if not channel.takes(queued.severity):
        return f"channel {channel.name} takes {channel.minimum} and above, this is {queued.severity}"
    if channel.once and queued.thread in out.threads:
        return f"channel {channel.name} takes one message of each thread, and had one of {queued.thread}"
    return ""


def _waiting(queued: NotificationQueued, now: datetime, channel: Spoken | None, out: Outgoing) -> Waiting:
    """Return the message with the moment from which it may go out, and what it goes out together with."""
    quiet = None if channel is None else held_until(channel.quiet, queued.severity, now)
    held = max((moment for moment in (queued.hold, quiet) if moment is not None), default=None)
    if len(out.waiting) >= WHOLE:
        queued = queued.model_copy(update={"text": "", "facts": (), "links": ()})
    if held is not None and held > now:
        return Waiting(queued=queued, due=held, at=now, lot=QUIET)
    urgent = queued.severity is Severity.CRITICAL
    pause = timedelta(0) if urgent else max(queued.gather, timedelta(0) if channel is None else channel.gather)
    if not pause:
        return Waiting(queued=queued, due=now, at=now)
    open_lot = next((item for item in out.waiting if item.lot.startswith(GATHER) and item.due > now), None)
    due, lot = (now + pause, f"{GATHER}{now.isoformat()}") if open_lot is None else (open_lot.due, open_lot.lot)
    return Waiting(queued=queued, due=min(due, now + pause), at=now, lot=lot)


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


def _passed(out: Outgoing, message: DeadlinePassed) -> Outgoing:
    sending = out.sending
    if sending is not None and (message.what, message.due) == (_again(sending), sending.again):
        return out.model_copy(update={"sending": sending.model_copy(update={"again": None})})
    return out


def _limit(channel: Spoken | None) -> Limit:
    return UNKNOWN if channel is None else channel.limit


def _sending(out: Outgoing, now: datetime, channel: Spoken | None) -> tuple[Outgoing, str]:
    """Return the queue with the next call on its way, or with the moment at which one may be made."""
    out = out.model_copy(update={"wake": None})
    if out.sending is not None or not out.waiting:
        return out, ""
    out = _released(out, now, channel)
    due = [item for item in out.waiting if item.due <= now]
    at = pace.next_call(out.calls, _limit(channel), now) if due else min(item.due for item in out.waiting)
    if at > now:
        return out.model_copy(update={"wake": min(at, now + LOOK_AGAIN)}), ""
    items = _batch(due, pace.alone(out.calls, _limit(channel), now))
    gone = {item.queued.notice for item in items}
    sending = Sending(id=batch_id(items), items=items, since=now)
    kept = tuple(item for item in out.waiting if item.queued.notice not in gone)
    told = f"{counted(len(items), 'message')} to channel {items[0].queued.channel}, {len(kept)} wait"
    return out.model_copy(update={"waiting": kept, "sending": sending}), told


def _batch(due: list[Waiting], alone: int) -> tuple[Waiting, ...]:
    """Return what goes out now: the oldest by itself while there is room for all, else the most urgent together."""
    lot = due[0].lot
    if lot:
        return chosen([item for item in due if item.lot == lot])
    return (due[0],) if len(due) <= max(1, alone) else chosen(due)


def _released(out: Outgoing, now: datetime, channel: Spoken | None) -> Outgoing:
    """Return the queue with what quiet hours no longer keep, because they were taken out of the file."""
    if channel is None or not any(item.lot == QUIET for item in out.waiting):
        return out

    def freed(item: Waiting) -> Waiting:
        held = held_until(channel.quiet, item.queued.severity, now)
        moment = max((each for each in (item.queued.hold, held) if each is not None), default=now)
        return item.model_copy(update={"due": moment}) if item.lot == QUIET and moment < item.due else item

    return out.model_copy(update={"waiting": tuple(freed(item) for item in out.waiting)})
