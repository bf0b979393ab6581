"""How a message to an address, the log or a cluster's objects ends: delivered, dropped, or tried again."""

from datetime import datetime, timedelta

from keepstep.contracts.events import NotificationDelayed, NotificationDelivered, NotificationDropped
from keepstep.contracts.ids import EventId, consequence_id
from keepstep.contracts.message import envelope
from keepstep.core.backoff import backoff
from keepstep.core.masking import masked
from keepstep.notifier.core.state import Pending
from keepstep.ports.sink import Receipt

MOST_TRIES = 70
"""With pauses of 1, 2, 4 ... 60 s a little over an hour: a vendor's bad hour or the upgrade of a control plane loses
nothing, and older messages help nobody on call."""
OBJECTS = "kubernetes"
"""The sink that puts Events on the objects of a cluster; no route names it, every step goes there."""
LONGEST_PAUSE = timedelta(minutes=5)
"""What a sink's Retry-After may ask for at most."""


def delivered(pending: Pending, receipt: Receipt | None, *, now: datetime) -> NotificationDelivered:
    """Return the news that the message reached its sink, and what that answered."""
    answer = receipt or Receipt("")
    return NotificationDelivered(
        id=ending_id("NotificationDelivered", pending),
        **envelope(pending.origin, time=now),
        sink=masked(pending.sink),
        severity=pending.severity,
        title=pending.title,
        tries=pending.tries + 1,
        code=answer.code,
        notice=pending.id,
        calls=answer.calls,
    )


def dropped(pending: Pending, *, because: str, code: str, now: datetime) -> NotificationDropped:
    """Return the news that the message was given up."""
    return NotificationDropped(
        id=ending_id("NotificationDropped", pending),
        **envelope(pending.origin, time=now),
        sink=masked(pending.sink),
        severity=pending.severity,
        title=pending.title,
        because=because,
        code=code,
        notice=pending.id,
    )


def delayed(pending: Pending, *, because: str, code: str, retry_after: timedelta, now: datetime) -> NotificationDelayed:
    """Return the news that a try failed; the pause doubles, and is as long as the sink asked for within limits."""
    pause = max(backoff(pending.tries), min(retry_after, LONGEST_PAUSE))
    return NotificationDelayed(
        id=consequence_id("NotificationDelayed", pending.origin.id, subject=pending.place, attempt=pending.tries + 1),
        **envelope(pending.origin, time=now),
        notice=pending.id,
        sink=masked(pending.sink),
        tries=pending.tries + 1,
        again=now + pause,
        because=because,
        code=code,
    )


def ending_id(kind: str, pending: Pending) -> EventId:
    """Return the id of the event that ends this message."""
    return consequence_id(kind, pending.origin.id, subject=pending.place)
