"""Faults as systems outside report them, in the form of MindCluster's public fault interface: checked and made events.

A report is idempotent: the ids of its events follow from what it says, so saying it again says the same.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field

from keepstep.console.public_codes import HURTING, TYPES
from keepstep.contracts.events import PublicFaultReported
from keepstep.contracts.ids import EventId, NodeName, Pool, derive
from keepstep.contracts.model import Frozen

MOST_FAULTS = 100
MOST_INFLUENCES = 1000
MOST_DEVICES = 32
MOST_AT_ONCE = 50_000
"""Nodes and devices in one report: as many faults as MindCluster keeps alive."""


class Influence(Frozen):
    """A node that the fault is on, or devices of it."""

    nodeName: str = Field(default="", max_length=253)  # noqa: N815 - the interface's name, as those below
    nodeSN: str = Field(default="", max_length=253)  # noqa: N815
    deviceIds: tuple[int, ...] = Field(default=(), max_length=MOST_DEVICES)  # noqa: N815


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
    said: list[PublicFaultReported] = []
    dropped: list[str] = []
    for fault in report.faults:
        level = codes.get(fault.faultCode)
        if level is None:
            dropped.append(f"fault {fault.faultId}: code {fault.faultCode!r} is not known")
        elif not fault.faultCode.startswith(TYPES[fault.faultType]):
            dropped.append(f"fault {fault.faultId}: code {fault.faultCode} is of no {fault.faultType}")
        else:
            said += _events(report.resource, fault, level, pool, now)
            nameless = sum(not at.nodeName for at in fault.influence)
            if nameless:
                dropped.append(
                    f"fault {fault.faultId}: {nameless} influences without nodeName, by which nodes are known"
                )
    return Intake(tuple({event.id: event for event in said}.values()), tuple(dropped))


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
