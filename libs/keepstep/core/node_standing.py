"""How a node stands: all that holds of it at once, told alike by command line, console and API."""

from datetime import datetime
from enum import StrEnum

OWNER = "keepstep"
"""Whose mark stands at a node that keepstep cordoned; only such marks are ever removed."""
UNREADY = "the cluster does not have it ready"


class NodeState(StrEnum):
    """What may hold of a node; lost and isolated do so together."""

    LOST = "lost"
    ISOLATED = "isolated"
    READY = "ready"
    ENDED = "ended"
    """Its stack is gone, and nothing of the node is meant to run."""
    UNKNOWN = "unknown"
    """The stream names it and no cluster tells how it is."""


def node_states(*, ready: bool | None, isolated: bool, ended: bool = False) -> tuple[NodeState, ...]:
    """Return all that holds of a node, the gravest first; ``ready`` is None where no cluster tells."""
    lost = ready is False and not ended
    found = tuple(state for state, holds in ((NodeState.LOST, lost), (NodeState.ISOLATED, isolated)) if holds)
    if found:
        return found
    if ended:
        return (NodeState.ENDED,)
    return (NodeState.READY if ready else NodeState.UNKNOWN,)


def is_over(owner: str, at: datetime, released: datetime | None) -> bool:
    """Return whether a mark is of an isolation that was released since: the cluster was looked at a little before.

    ``at`` is when the mark's isolation was asked for, ``released`` when the node was released last.
    """
    return owner == OWNER and released is not None and at <= released
