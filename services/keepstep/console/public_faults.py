"""Faults as systems outside report them, in the form of MindCluster's public fault interface: checked and made events.

A report is idempotent: the ids of its events follow from what it says, so saying it again says the same.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from keepstep.console.public_codes import HURTING, TYPES
from keepstep.contracts.events import PublicFaultReported
from keepstep.contracts.ids import NODE_NAME, NODE_NAME_SAID, EventId, NodeName, Pool, derive
from keepstep.contracts.model import Frozen

MOST_FAULTS = 100
MOST_INFLUENCES = 1000
MOST_DEVICES = 32
MOST_AT_ONCE = 50_000
"""Nodes and devices in one report: as many faults as MindCluster keeps alive."""
HIGHEST_DEVICE = 4095
"""Far above the devices of any node or super pod: a greater number is something else's, as a timestamp is."""


def _device(number: object) -> object:
    """Return a number that a device can have; raises ValueError with the remedy."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= HIGHEST_DEVICE:
        raise ValueError(f"write a device's number on its node, a whole number from 0 to {HIGHEST_DEVICE}, as in 3")
    return number


DeviceId = Annotated[int, BeforeValidator(_device)]


def _node(name: str) -> str:
    """Return a name that a node can have, or none; raises ValueError with the remedy."""
    if name and not NODE_NAME.fullmatch(name):
        raise ValueError(NODE_NAME_SAID)
    return name


def _serial(number: str) -> str:
    """Return a serial number that can be printed; raises ValueError with the remedy."""
    if not number.isprintable():
        raise ValueError("write the serial number as it is printed on the node, without control characters")
    return number


class Influence(Frozen):
    """A node that the fault is on, or devices of it."""

    nodeName: Annotated[str, AfterValidator(_node)] = Field(default="", max_length=253)  # noqa: N815 - the interface's name, as those below
    nodeSN: Annotated[str, AfterValidator(_serial)] = Field(default="", max_length=253)  # noqa: N815
    deviceIds: tuple[DeviceId, ...] = Field(default=(), max_length=MOST_DEVICES)  # noqa: N815


class PublicFault(Frozen):
    """One fault."""

    faultId: str = Field(min_length=8, max_length=128)  # noqa: N815
    faultType: Literal["NPU", "Node", "Network", "Storage"]  # noqa: N815
    faultCode: str = Field(min_length=1, max_length=32)  # noqa: N815
    faultTime: int = Field(ge=0)  # noqa: N815
    """Milliseconds of the epoch."""
    assertion: Literal["occur", "recover", "once"]
    faultLocation: dict[str, str] = Field(default_factory=dict, max_length=10)  # noqa: N815
    influence: tuple[Influence, ...] = Field(min_length=1, max_length=MOST_INFLUENCES)
    description: str = Field(default="", max_length=512)


class PublicFaults(Frozen):
    """What a system outside posts: MindCluster's form, version 1.0."""

    id: str = Field(min_length=8, max_length=128)
    timestamp: int = Field(ge=0)
    version: Literal["1.0"]
    resource: str = Field(min_length=1, max_length=128)
    """Which system it is."""
    faults: tuple[PublicFault, ...] = Field(min_length=1, max_length=MOST_FAULTS)


@dataclass(frozen=True)
class Intake:
    """What is taken of a report, and why the rest was dropped."""

    said: tuple[PublicFaultReported, ...] = ()
    dropped: tuple[str, ...] = ()
    fault_of: Mapping[EventId, str] = field(default_factory=dict)
    """Which faultId an event is of."""


class TooMany(Exception):
    """The report names more nodes and devices than are taken at once."""


def taken(
    report: PublicFaults, pool: Pool, *, senders: Collection[str], codes: Mapping[str, str], now: datetime
) -> Intake:
    """Return the events of a report; an unknown sender or code is dropped with its reason. Raises TooMany."""
    if report.resource not in senders:
        return Intake(dropped=(f"sender {report.resource!r} is not known; known are {', '.join(sorted(senders))}",))
    if sum(max(1, len(at.deviceIds)) for fault in report.faults for at in fault.influence) > MOST_AT_ONCE:
        raise TooMany(f"more than {MOST_AT_ONCE} nodes and devices in one report; send several")
    said: dict[EventId, PublicFaultReported] = {}
    fault_of: dict[EventId, str] = {}
    dropped: list[str] = []
    for fault in report.faults:
        level = codes.get(fault.faultCode)
        if level is None:
            dropped.append(f"fault {fault.faultId}: code {fault.faultCode!r} is not known")
        elif not fault.faultCode.startswith(TYPES[fault.faultType]):
            dropped.append(f"fault {fault.faultId}: code {fault.faultCode} is of no {fault.faultType}")
        else:
            events = {event.id: event for event in _events(report.resource, fault, level, pool, now)}
            said |= events
            fault_of |= dict.fromkeys(events, fault.faultId)
            nameless = sum(not at.nodeName for at in fault.influence)
            if nameless:
                dropped.append(
                    f"fault {fault.faultId}: {nameless} influences without nodeName, by which nodes are known"
                )
    return Intake(tuple(said.values()), tuple(dropped), fault_of)


def _events(sender: str, fault: PublicFault, level: str, pool: Pool, now: datetime) -> Iterator[PublicFaultReported]:
    told = f"MindCluster level {level}, public" + (f": {fault.description}" if fault.description else "")
    for at in fault.influence:
        if not at.nodeName:
            continue
        for device in at.deviceIds or (None,):
            name = derive("public", sender, fault.faultId, fault.assertion, fault.faultTime, at.nodeName, device)
            yield PublicFaultReported(
                id=EventId(name),
                time=now,
                pool=pool,
                node=NodeName(at.nodeName),
                source=sender,
                code=fault.faultCode,
                text=told,
                device=None if device is None else str(device),
                assertion=fault.assertion,
                active=fault.assertion != "recover",
                hurts=level in HURTING,
            )
