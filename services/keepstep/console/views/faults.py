"""Faults as the console shows them, whatever found them, with the jobs and ranks that they hurt."""

from enum import StrEnum

from pydantic import AwareDatetime

from keepstep.contracts.ids import EventId, IncidentId, NodeName
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef


class FaultSource(StrEnum):
    """Which kind of thing a fault was found on; ``public``: a system outside reported it."""

    DEVICE = "device"
    NODE = "node"
    NETWORK = "network"
    PROCESS = "process"
    PUBLIC = "public"


class HurtJob(Frozen):
    """A job that a fault hurts, with the ranks that it hurts there; no ranks: which ones is not known."""

    job: JobRef
    ranks: tuple[int, ...] = ()


class FaultView(Frozen):
    """One fault of the pool: the same thing reported again is the same fault, counted."""

    id: EventId
    """Of the message that told of it first."""
    source: FaultSource
    subject: str
    """``rank 3``, ``device 0``, ``node n1``."""
    code: str
    """What tells faults of one subject apart: the device's code, the condition, the kind of evidence."""
    text: str
    node: NodeName | None = None
    device: str | None = None
    first: AwareDatetime
    last: AwareDatetime
    count: int = 1
    active: bool = True
    ended: AwareDatetime | None = None
    reporter: str = ""
    """The system outside that reported it; empty for one that keepstep found."""
    incident: IncidentId | None = None
    hurt: tuple[HurtJob, ...] = ()


class FaultListing(Frozen):
    """A part of the faults, newest first."""

    items: tuple[FaultView, ...]
    total: int
    next: EventId | None = None
