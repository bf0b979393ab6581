"""Events that the isolator says."""

from datetime import timedelta

from pydantic import AwareDatetime

from keepstep.contracts.message import Event


class NodeIsolated(Event):
    """A node is cordoned; ``cause`` is the verdict or order. In a dry run IsolationDeclined is said instead."""

    reason: str
    because: str
    until: AwareDatetime | None = None
    group: str | None = None
    """Incidents with the same one share a cause; None where the cause is the job's own."""
    incidents: int = 1
    """How many incidents of the group there are so far, this one among them."""
    when_ready: bool = False
    """It was lost, and is released by itself once it was ready for ``release_after``, however long before ``until``."""
    release_after: timedelta | None = None
    """How long it must have been ready before it is released by itself; None in older events, and where only a person
    releases it."""


class DeviceIsolated(Event):
    """A device is kept from jobs, its node takes them on; ``cause`` is the verdict or order."""

    device: str
    reason: str
    because: str
    until: AwareDatetime | None = None
    group: str | None = None
    """Incidents with the same one share a cause; None where the cause is the job's own."""
    incidents: int = 1
    """How many incidents of the group there are so far, this one among them."""
    when_ready: bool = False
    """It was lost, and is released by itself once it was ready for ``release_after``, however long before ``until``."""
    release_after: timedelta | None = None
    """How long it must have been ready before it is released by itself; None in older events, and where only a person
    releases it."""


class IsolationDeclined(Event):
    """Nothing was isolated for this verdict, and why; exactly one answer is given per verdict."""

    because: str
    dry_run: bool = False
    held: bool = False
    """Too many were isolated lately: no rule isolates any more before a person has looked."""
    group: str | None = None
    """Incidents with the same one share a cause; None where the cause is the job's own."""
    incidents: int = 1
    """How many incidents of the group there are so far, this one among them."""


class NodeReleased(Event):
    """A node may take jobs again."""

    because: str


class DeviceReleased(Event):
    """A device may take jobs again."""

    device: str
    because: str


class NodeDrained(Event):
    """What ran beside keepstep's tasks on an isolated node was moved away, or stays for a reason."""

    left: tuple[str, ...] = ()
    """What still runs there, as ``namespace/pod: why``; at most 20 of them."""
    forced: bool = False
    """The rest was driven out, disruption budgets or not, as the policy asks."""
    because: str


class NodeRecovered(Event):
    """An isolated node was seen ready: the time it must stay so before its release runs from here."""


class NodeRelapsed(Event):
    """An isolated node that was seen ready is not ready any more: that time starts anew at its next recovery."""


class ReleaseDeclined(Event):
    """A person's release of a node (``cause``) changed nothing, and why."""

    because: str
