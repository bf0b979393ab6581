"""Nodes as the console shows them: isolations, faults, and whom a fault there hurts."""

from typing import Literal

from pydantic import AwareDatetime

from keepstep.console.views.faults import FaultView, HurtJob
from keepstep.console.views.pool import EventView
from keepstep.contracts.ids import NodeName
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef


class IsolationView(Frozen):
    """Something is kept from jobs: a node, or a device of it."""

    device: str | None = None
    reason: str
    because: str
    since: AwareDatetime
    until: AwareDatetime | None = None
    by: str = ""
    """The person who ordered it; empty for keepstep itself."""


class NodeRow(Frozen):
    """A node in a listing."""

    node: NodeName
    state: Literal["ready", "isolated", "lost", "unknown"]
    """``unknown``: the stream names it and no cluster tells how it is."""
    because: str = ""
    """Why it is isolated or lost."""
    group: str | None = None
    isolated_devices: tuple[str, ...] = ()
    tasks: int = 0
    jobs: tuple[JobRef, ...] = ()
    """That run there now; at most twenty."""
    active_faults: int = 0
    faults: int = 0
    last_fault: AwareDatetime | None = None


class NodeView(NodeRow):
    """One node with all that is kept of it."""

    isolations: tuple[IsolationView, ...] = ()
    """That stand now: of the node first."""
    hurt: tuple[HurtJob, ...] = ()
    """Jobs and ranks that a fault of this node would hurt now, and those that one does."""
    history: tuple[FaultView, ...] = ()
    """Newest first."""
    events: tuple[EventView, ...] = ()
    """Isolations, releases, drains and their reasons, newest first."""
