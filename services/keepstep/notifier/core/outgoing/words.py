"""What is said of a channel's messages: delivered, delayed, dropped, with the vendor's code and never a secret."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from keepstep.contracts.events import NotificationDelayed, NotificationDelivered, NotificationDropped
from keepstep.contracts.ids import EventId, consequence_id
from keepstep.contracts.message import envelope
from keepstep.core.backoff import backoff
from keepstep.notifier.core.outgoing.digest import notice_of
from keepstep.notifier.core.outgoing.state import Sending, Waiting
from keepstep.ports.sink import Receipt

LONGEST_PAUSE = timedelta(minutes=15)
"""What a vendor may ask for at most: DingTalk refuses for ten minutes."""


def delivered(sending: Sending, receipt: Receipt | None, now: datetime) -> NotificationDelivered:
    """Return that it arrived; of a digest, in words of the channel, since it is of no one job."""
    notice, answer = notice_of(sending), receipt or Receipt("")
    return NotificationDelivered(
        id=_id("NotificationDelivered", sending),
        **_about(sending, now),
        sink=_channel(sending),
        severity=notice.severity,
        title=notice.title,
        tries=sending.tries + 1,
        channel=_channel(sending),
        code=answer.code,
        notice=sending.id,
        calls=answer.calls,
        members=notice.members,
    )


def each_delivered(event: NotificationDelivered, sending: Sending, now: datetime) -> Iterable[NotificationDelivered]:
    """Yield that each message of a digest arrived with it."""
    for item in sending.items if len(sending.items) > 1 else ():
        queued = item.queued
        yield NotificationDelivered(
            id=consequence_id("NotificationDelivered", queued.id, subject=f"{queued.notice}/{item.at.isoformat()}"),
            **envelope(queued, time=now, cause=event.id),
            sink=queued.channel,
            severity=queued.severity,
            title=queued.title,
            tries=event.tries,
            channel=queued.channel,
            code=event.code,
            notice=queued.notice,
            digest=sending.id,
        )


def delayed(sending: Sending, *, because: str, code: str, retry_after: timedelta, now: datetime) -> NotificationDelayed:
    """Return that a try failed; the pause doubles, and is as long as the vendor asks for within limits."""
    pause = max(backoff(sending.tries), min(retry_after, LONGEST_PAUSE))
    return NotificationDelayed(
        id=_id("NotificationDelayed", sending, attempt=sending.tries + 1),
        **_about(sending, now),
        notice=sending.id,
        sink=_channel(sending),
        tries=sending.tries + 1,
        again=now + pause,
        because=because,
        channel=_channel(sending),
        code=code,
    )


def dropped(item: Waiting, *, because: str, code: str = "", now: datetime) -> NotificationDropped:
    """Return that one message was given up; it lies among the dead letters by then."""
    queued = item.queued
    return NotificationDropped(
        id=consequence_id("NotificationDropped", queued.id, subject=f"{queued.notice}/{item.at.isoformat()}"),
        **envelope(queued, time=now),
        sink=queued.channel,
        severity=queued.severity,
        title=queued.title,
        because=because,
        channel=queued.channel,
        code=code,
        notice=queued.notice,
    )


def _about(sending: Sending, now: datetime) -> dict[str, Any]:
    """Return the envelope: of a single message what that is about, of a digest the pool alone."""
    first = sending.items[0].queued
    return envelope(first, time=now) if len(sending.items) == 1 else {"time": now, "pool": first.pool}


def _id(kind: str, sending: Sending, *, attempt: int = 0) -> EventId:
    first = sending.items[0]
    return consequence_id(kind, first.queued.id, subject=f"{sending.id}/{first.at.isoformat()}", attempt=attempt)


def _channel(sending: Sending) -> str:
    return sending.items[0].queued.channel
