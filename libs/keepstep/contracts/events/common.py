"""Events that more than one service, or a system outside, says."""

from datetime import timedelta

from pydantic import AwareDatetime

from keepstep.contracts.message import Event
from keepstep.contracts.taxonomy import Service


class DeadlinePassed(Event):
    """A durable deadline of ``service`` is due; it decides on this event. ``scope`` is the fold's key."""

    service: Service
    scope: str
    what: str
    due: AwareDatetime


class FoldRestated(Event):
    """All that ``service`` remembers of one key, said daily so that retention never forgets it; for itself alone.

    Whoever rebuilds takes the newest one and what the stream has after ``through``, the sequence of its last message.
    """

    service: Service
    scope: str
    through: int
    state: str
    """JSON of the fold; ``zlib:`` and base64 where it is long."""

    @property
    def key(self) -> str:
        """Service and scope: of each fold the newest is found, and no reader of a job's events meets it."""
        return f"{self.service}/{self.scope}"


class DeadLettered(Event):
    """A message that ``service`` could not take was put with the dead letters; a person is to look at it."""

    service: Service
    about: str
    """Class name of the message as its subject has it."""
    number: int = 0
    """What ``keepstep deadletter`` calls it; 0 if it is not known yet."""
    because: str
    channel: str = ""
    """Of a message to people, the channel that it was for."""
    address: str = ""
    """And of one to an address the end of a hash of it: an address is a secret."""


class IncidentAcknowledged(Event):
    """A person looks after the incident."""

    by: str


class PublicFaultReported(Event):
    """A system outside keepstep reports a fault of a node or device, or its end."""

    source: str
    code: str
    text: str = ""
    device: str | None = None
    active: bool = True
    assertion: str = ""
    """What MindCluster's interface calls it: ``occur``, ``recover`` or ``once``; "" leaves it to ``active``."""
    duration: timedelta | None = None
    """How long the fault lasts from its report on, if its source knows; then it is over by itself."""
    hurts: bool = True
    """A training on it suffers; else it is for people to know, and no fault. As of DeviceReported."""

    @property
    def recovered(self) -> bool:
        """The report is of a fault's end, whatever ``active`` says by its default."""
        return self.assertion == "recover"

    @property
    def once(self) -> bool:
        """The fault was over as soon as it was reported: the next report is another one."""
        return self.assertion == "once"
