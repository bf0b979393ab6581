"""Nodes as the console shows them: isolations, faults, and whom a fault there hurts."""

from pydantic import AwareDatetime

from keepstep.console.views.faults import FaultView, HurtJob
from keepstep.console.views.pool import EventView
from keepstep.contracts.ids import NodeName
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef
from keepstep.core.node_standing import NodeState


class IsolationView(Frozen):
    """Something is kept from jobs: a node, or a device of it."""

    device: str | None = None
    reason: str
    because: str
    since: AwareDatetime
    until: AwareDatetime | None = None
    ends: str = ""
    """When it takes jobs again: by a person, by itself once it is ready, or after its time."""
    by: str = ""
    """The person who ordered it; empty for keepstep itself."""


class NodeRow(Frozen):
    """A node in a listing."""

    node: NodeName
    state: NodeState
    """The gravest of ``states``."""
    states: tuple[NodeState, ...]
    """All that holds of it: a node may be lost and isolated at once."""
    because: str = ""
    """Why it is lost and why it is isolated."""
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
