"""A way to reach people."""

from dataclasses import dataclass
from typing import Protocol

from pydantic import AwareDatetime

from keepstep.contracts.ids import IncidentId, NodeName, TaskUid
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Service, Severity
from keepstep.contracts.topology import JobRef


class About(Frozen):
    """Whom a notice concerns, for a channel that puts it where that is: on the objects of a cluster."""

    reason: str
    """The name of the message that is told."""
    service: Service
    """Who said that message."""
    at: AwareDatetime
    job: JobRef | None = None
    tasks: tuple[TaskUid, ...] = ()
    node: NodeName | None = None
    incident: IncidentId | None = None


@dataclass(frozen=True)
class Notice:
    """One message of an incident's thread; ``thread`` groups them, ``sequence`` orders them."""

    id: str
    """The same at every try: a notifier that dies right after a delivery delivers again, so channels that can
    deduplicate are to be given it, and the others must let people see that both are one."""
    thread: IncidentId | str
    sequence: int
    severity: Severity
    title: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    about: About | None = None
    """Set for the channels that ask for it, and for no other."""


class Sink(Protocol):
    """One channel."""

    async def deliver(self, notice: Notice) -> None:
        """Deliver or raise: Transient to be tried again, Permanent to be dropped with the reason."""
