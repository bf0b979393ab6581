"""What becomes of a message that comes to a channel: not for it, gathered, held by quiet hours, or to go out now."""

from datetime import datetime, timedelta

from keepstep.contracts.channel_parts import RANK, Spoken
from keepstep.contracts.events import NotificationQueued
from keepstep.contracts.taxonomy import Severity, Stage
from keepstep.core.sentences import counted
from keepstep.notifier.core.endings import ENDS
from keepstep.notifier.core.outgoing.state import REMEMBERED, ROOM, WHOLE, Dead, Outgoing, Waiting
from keepstep.notifier.core.quiet import held_until

QUIET = "quiet"
GATHER = "gather/"
AT_ONCE = timedelta(0)


def arrived(out: Outgoing, queued: NotificationQueued, now: datetime, channel: Spoken | None) -> tuple[Outgoing, str]:
    """Return the queue with the message in it, unless it is there or not for this channel."""
    if queued.notice in out.known:
        return out, ""
    out = out.model_copy(update={"known": (*out.known, queued.notice)[-REMEMBERED:]})
    if channel is not None and not channel.takes(_weighed(queued, channel, out)):
        return out, f"channel {channel.name} takes {channel.minimum} and above, this is {queued.severity}"
    if channel is not None and channel.once:
        out, wanted = _once(out, queued)
        if not wanted:
            return out, f"channel {channel.name} takes one message of each thread, and had one of {queued.thread}"
    threads = (*(one for one in out.threads if one != queued.thread), queued.thread)[-REMEMBERED:]
    item = _waiting(queued, now, channel, out)
    if len(out.waiting) >= ROOM:
        dead = Dead(item=item, because=f"{counted(ROOM, 'message')} wait already for channel {queued.channel}")
        return out.model_copy(update={"dead": (*out.dead, dead)}), dead.because
    return out.model_copy(update={"threads": threads, "waiting": (*out.waiting, item)}), ""


def _once(out: Outgoing, queued: NotificationQueued) -> tuple[Outgoing, bool]:
    """Return the queue, and whether the message is the one of its thread that goes out.

    A more urgent one takes the place of one that still waits, or quiet hours would keep a failure back behind a
    warning; so does an end, or people would hear in the morning of a fault that is over. A step of an escalation goes
    out in any case: it says that the one before was not enough.
    """
    if queued.thread not in out.threads or queued.stage is Stage.ESCALATED:
        return out, True
    end = queued.stage in ENDS
    milder = [item for item in _of_thread(out, queued) if end or _rank(item.queued) < _rank(queued)]
    kept = tuple(item for item in out.waiting if item not in milder)
    return out.model_copy(update={"waiting": kept}), bool(milder)


def _weighed(queued: NotificationQueued, channel: Spoken, out: Outgoing) -> Severity:
    """Return how loud it is to the channel's minimum: ways that cost or wake people are not used for ends alone."""
    return queued.severity if channel.once and not _of_thread(out, queued) else queued.loudness


def _of_thread(out: Outgoing, queued: NotificationQueued) -> list[Waiting]:
    return [item for item in out.waiting if item.queued.thread == queued.thread]


def _rank(queued: NotificationQueued) -> int:
    return RANK[queued.severity]


def _waiting(queued: NotificationQueued, now: datetime, channel: Spoken | None, out: Outgoing) -> Waiting:
    """Return the message with the moment from which it may go out, and what it goes out together with."""
    quiet = None if channel is None else held_until(channel.quiet, queued.loudness, now)
    held = max((moment for moment in (queued.hold, quiet) if moment is not None), default=None)
    if len(out.waiting) >= WHOLE:
        queued = queued.model_copy(update={"text": "", "facts": (), "links": ()})
    if held is not None and held > now:
        return Waiting(queued=queued, due=held, at=now, lot=QUIET)
    urgent = queued.severity is Severity.CRITICAL
    pause = AT_ONCE if urgent else max(queued.gather, AT_ONCE if channel is None else channel.gather)
    if not pause:
        return Waiting(queued=queued, due=now, at=now)
    open_lot = next((item for item in out.waiting if item.lot.startswith(GATHER) and item.due > now), None)
    due, lot = (now + pause, f"{GATHER}{now.isoformat()}") if open_lot is None else (open_lot.due, open_lot.lot)
    return Waiting(queued=queued, due=min(due, now + pause), at=now, lot=lot)


def in_turn(out: Outgoing) -> Outgoing:
    """Return the queue in which nothing is overtaken in its thread: what is in front of an urgent message goes with it.

    Whoever is woken by it reads what led there, and finds no older news in the morning's digest.
    """
    first: dict[str, Waiting] = {}
    turned: list[Waiting] = []
    for item in reversed(out.waiting):
        behind = first.get(item.queued.thread, item)
        if behind.due < item.due:
            item = item.model_copy(update={"due": behind.due, "lot": behind.lot})  # noqa: PLW2901 - the same one, sooner
        first[item.queued.thread] = item
        turned.append(item)
    return out.model_copy(update={"waiting": tuple(reversed(turned))})
