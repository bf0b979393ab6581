"""The events of this stage, with ids that are the same however often they are said."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from keepstep.contracts.events import (
    DeviceIsolated,
    DeviceReleased,
    IncidentClosed,
    IsolationDeclined,
    NodeDrained,
    NodeIsolated,
    NodeRecovered,
    NodeRelapsed,
    NodeReleased,
    ReleaseDeclined,
)
from keepstep.contracts.ids import EventId, NodeName, consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.taxonomy import Category, Outcome, Service
from keepstep.isolator.core.state import Asker, Isolation, Request, Shared, Way

MOST_LEFT = 20
"""Pods named in one event; who wants more asks the cluster."""


def isolated(
    request: Request, *, because: str, now: datetime, device: str | None = None
) -> NodeIsolated | DeviceIsolated:
    """Return the answer that node or device is out; a rule's isolation expires, a person's does not."""
    expires = request.asker is Asker.RULE
    kind = NodeIsolated if device is None else DeviceIsolated
    fields: dict[str, Any] = {
        "id": consequence_id(kind.__name__, request.origin.id),
        "reason": request.reason,
        "because": _explained(because, request.shared),
        "until": request.origin.time + request.policy.expiry if expires else None,
        "when_ready": request.way is Way.RETURNING,
        "release_after": request.policy.release_after if expires else None,
    }
    about = envelope(request.origin, time=now, node=request.node) | fields | _group(request.shared)
    return NodeIsolated(**about) if device is None else DeviceIsolated(**about, device=device)


def declined(
    origin: Message,
    *,
    because: str,
    now: datetime,
    node: NodeName | None,
    dry_run: bool = False,
    held: bool = False,
    shared: Shared | None = None,
) -> IsolationDeclined:
    """Return the answer that nothing was isolated."""
    return IsolationDeclined(
        id=consequence_id("IsolationDeclined", origin.id),
        **envelope(origin, time=now, node=node),
        because=_explained(because, shared),
        dry_run=dry_run,
        held=held,
        **_group(shared),
    )


def _explained(because: str, shared: Shared | None) -> str:
    if shared is None or shared.incidents < 2:
        return because
    return f"{because}; {shared.incidents} incidents share one cause: {shared.cause}"


def _group(shared: Shared | None) -> dict[str, Any]:
    return {} if shared is None else {"group": shared.group, "incidents": shared.incidents}


def turned(isolation: Isolation, *, ready: bool, now: datetime) -> NodeRecovered | NodeRelapsed:
    """Return the news that an isolated node became ready, or is ready no more."""
    kind = NodeRecovered if ready else NodeRelapsed
    return kind(id=turn_id(kind, isolation), **envelope(isolation.origin, time=now, node=isolation.node))


def turn_id(kind: type[NodeRecovered | NodeRelapsed], isolation: Isolation) -> EventId:
    """Return the id of the node's next turn: a later one has another, however often it turns."""
    return consequence_id(kind.__name__, isolation.origin.id, attempt=isolation.turns)


def released(origin: Message, *, node: NodeName, because: str, now: datetime) -> NodeReleased:
    """Return the news that the node may take jobs again; ``origin`` is the order or the NodeIsolated it ends."""
    return NodeReleased(
        id=consequence_id("NodeReleased", origin.id, subject=node),
        **envelope(origin, time=now, node=node),
        because=because,
    )


def device_released(origin: Message, *, place: tuple[NodeName, str], because: str, now: datetime) -> DeviceReleased:
    """Return the news that the device may be given out again; ``origin`` is the order or what it ends."""
    node, device = place
    return DeviceReleased(
        id=consequence_id("DeviceReleased", origin.id, subject=f"{node}/{device}"),
        **envelope(origin, time=now, node=node),
        device=device,
        because=because,
    )


def drained(isolation: Isolation, *, left: Sequence[str], forced: bool, because: str, now: datetime) -> NodeDrained:
    """Return the news that what else ran on the node is gone, driven out, or stays."""
    return NodeDrained(
        id=consequence_id("NodeDrained", isolation.origin.id),
        **envelope(isolation.origin, time=now, node=isolation.node),
        left=tuple(left[:MOST_LEFT]),
        forced=forced,
        because=because,
    )


def release_declined(origin: Message, *, because: str, now: datetime) -> ReleaseDeclined:
    """Return the answer that a release changed nothing."""
    return ReleaseDeclined(
        id=consequence_id("ReleaseDeclined", origin.id), **envelope(origin, time=now), because=because
    )


def closed(
    about: Message, *, category: Category, because: str, now: datetime, group: str | None
) -> tuple[IncidentClosed, ...]:
    """Return the end of an incident without a job; one of a job is closed by the scheduler-adapter."""
    if about.job is not None or about.incident is None:
        return ()
    return (
        IncidentClosed(
            id=consequence_id("IncidentClosed", about.id),
            **envelope(about, time=now),
            service=Service.ISOLATOR,
            outcome=Outcome.CLEARED,
            category=category,
            because=because,
            group=group,
        ),
    )


def mark_reason(request: Request) -> str:
    """Return what stands at the node for whoever finds it cordoned."""
    return f"{request.reason} (by {request.by})"
