"""How a message ends: delivered, dropped, or tried again after a pause."""

from datetime import datetime, timedelta

from keepstep.contracts.events import NotificationDelayed, NotificationDelivered, NotificationDropped
from keepstep.contracts.ids import EventId, consequence_id
from keepstep.contracts.message import envelope
from keepstep.core.backoff import backoff
from keepstep.core.masking import masked
from keepstep.notifier.core.state import Pending

MOST_TRIES = 10
"""With pauses of 1, 2, 4 ... 60 s a sink may be away for four minutes: longer than a deployment of a chat bridge."""
OBJECTS = "kubernetes"
"""The sink that puts Events on the objects of a cluster; no route names it, every step goes there."""
TRIES_OF_OBJECTS = 70
"""At a minute each as long as an Event lives, one hour: an upgrade of a control plane loses nothing."""
LONGEST_PAUSE = timedelta(minutes=5)
"""What a sink's Retry-After may ask for at most: an hour-old message helps nobody on call."""


def delivered(pending: Pending, *, now: datetime) -> NotificationDelivered:
    """Return the news that the message reached its sink."""
    return NotificationDelivered(
        id=ending_id("NotificationDelivered", pending),
        **envelope(pending.origin, time=now),
        sink=masked(pending.sink),
        severity=pending.severity,
        title=pending.title,
        tries=pending.tries + 1,
    )


def dropped(pending: Pending, *, because: str, now: datetime) -> NotificationDropped:
    """Return the news that the message was given up."""
    return NotificationDropped(
        id=ending_id("NotificationDropped", pending),
        **envelope(pending.origin, time=now),
        sink=masked(pending.sink),
        severity=pending.severity,
        title=pending.title,
        because=because,
    )


def delayed(pending: Pending, *, because: str, retry_after: timedelta, now: datetime) -> NotificationDelayed:
    """Return the news that a try failed; the pause doubles, and is as long as the sink asked for within limits."""
    pause = max(backoff(pending.tries), min(retry_after, LONGEST_PAUSE))
    return NotificationDelayed(
        id=consequence_id("NotificationDelayed", pending.origin.id, subject=pending.id, attempt=pending.tries + 1),
        **envelope(pending.origin, time=now),
        notice=pending.id,
        sink=masked(pending.sink),
        tries=pending.tries + 1,
        again=now + pause,
        because=because,
    )


def ending_id(kind: str, pending: Pending) -> EventId:
    """Return the id of the event that ends this message."""
    return consequence_id(kind, pending.origin.id, subject=pending.id)


def most_tries(pending: Pending) -> int:
    """Return after how many failed tries the message is given up."""
    return TRIES_OF_OBJECTS if pending.sink == OBJECTS else MOST_TRIES
