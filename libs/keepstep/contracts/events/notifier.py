"""Events that the notifier says."""

from pydantic import AwareDatetime

from keepstep.contracts.message import Event
from keepstep.contracts.taxonomy import Severity


class NotificationDelivered(Event):
    """A message reached a sink."""

    sink: str
    severity: Severity
    title: str
    tries: int = 1


class NotificationDropped(Event):
    """A message was given up, and why."""

    sink: str
    severity: Severity
    title: str
    because: str


class NotificationDelayed(Event):
    """A message did not get through now; it is tried again, or given up after the last try."""

    notice: str
    sink: str
    tries: int
    again: AwareDatetime
    because: str
