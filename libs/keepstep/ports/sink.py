"""A way to reach people."""

from dataclasses import dataclass
from typing import Protocol

from pydantic import AwareDatetime

from keepstep.contracts.ids import IncidentId, NodeName, TaskUid
from keepstep.contracts.model import Frozen
from keepstep.contracts.notice import NOBODY, Link, Member, Mentions
from keepstep.contracts.taxonomy import AlertKind, Service, Severity, Stage
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
    kind: AlertKind = AlertKind.STACK
    event: str = ""
    """Name of the message that is told, as ``FaultDiagnosed``; empty in a digest of several."""
    stage: Stage = Stage.NOTE
    incident: IncidentId | None = None
    job: str = ""
    """The job's name; empty where none is concerned."""
    subject: str = ""
    """What else it is about, as people call it: ``node n1``, ``device n1/npu-0``, ``pool p``, a level of recovery."""
    at: AwareDatetime | None = None
    """When what is told happened; a message that waited in a queue is read later."""
    links: tuple[Link, ...] = ()
    mentions: Mentions = NOBODY
    members: tuple[Member, ...] = ()
    """The notices that this one stands for; empty unless it is a digest."""
    weight: Severity | None = None
    """How loud a channel's minimum takes it; None: as it is."""

    @property
    def loudness(self) -> Severity:
        """How loud a channel's minimum takes it: an end as loud as the loudest thing that was told of its thread."""
        return self.weight or self.severity


@dataclass(frozen=True)
class Receipt:
    """What a channel answered to a message that it took."""

    code: str
    """The vendor's own, such as ``0`` or ``250``; the HTTP status where the vendor has none."""
    detail: str = ""
    """What it said beside, without secrets."""
    calls: int = 1
    """Requests that were made of the vendor, for its limits count requests: a digest can take several."""


class Sink(Protocol):
    """One channel."""

    async def deliver(self, notice: Notice) -> Receipt | None:
        """Deliver or raise: Transient to be tried again, Permanent to be dropped with the reason.

        The receipt and both errors carry the vendor's ``code``; None is of a channel that answers nothing.
        """
