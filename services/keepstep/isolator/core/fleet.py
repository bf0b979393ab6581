"""What an observed fleet allows: pure judgements on nodes as they are, made right before acting."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import instant
from keepstep.core.sentences import counted
from keepstep.isolator.core.answers import mark_reason
from keepstep.isolator.core.state import Asker, Isolation, Release, Request, Way
from keepstep.ports.cluster import CordonMark, NodeStatus

OWNER = "keepstep"
"""Whose mark stands at a node that keepstep cordoned; only such marks are ever removed."""


@dataclass(frozen=True)
class Cordon:
    """Do it, with this mark."""

    mark: CordonMark
    because: str


@dataclass(frozen=True)
class Refuse:
    """Leave the node as it is."""

    because: str


@dataclass(frozen=True)
class Uncordon:
    """Take keepstep's mark away."""

    because: str


@dataclass(frozen=True)
class Ended:
    """The isolation is over already; nothing is to be done."""

    because: str


@dataclass(frozen=True)
class Keep:
    """Leave it isolated."""


@dataclass(frozen=True)
class Turned:
    """Leave it isolated, and say that it became ready or is so no more."""

    ready: bool


def find(nodes: Sequence[NodeStatus], name: NodeName) -> NodeStatus | None:
    """Return the node of this name."""
    return next((node for node in nodes if node.name == name), None)


def limit(share: float, total: int) -> int:
    """Return how many of ``total`` may be out at once: max(1, share), PROTOCOL section 5."""
    return max(1, int(share * total))


def judge_fence(nodes: Sequence[NodeStatus], request: Request) -> Cordon | Refuse:
    """Decide whether the node may be cordoned: foreign marks stay, rules keep to the guard, people know better."""
    node = find(nodes, request.node)
    if node is None:
        return Refuse(f"{request.node} is not in this cluster of {counted(len(nodes), 'node')}")
    if node.mark is not None and node.mark.owner != OWNER:
        return Refuse(f"{node.name} is cordoned by {node.mark.owner}: left as it is")
    mark = CordonMark(
        owner=OWNER, reason=mark_reason(request), at=request.origin.time, incident=request.origin.incident
    )
    match request.asker:
        case Asker.PERSON:
            return Cordon(mark, f"asked for by {request.by}: {request.reason}")
        case Asker.RULE:
            if node.mark is not None and node.mark != mark:
                return Refuse(f"{node.name} is already isolated since {instant(node.mark.at)}: {node.mark.reason}")
            return _guarded(nodes, node, request, mark)
        case _:
            assert_never(request.asker)


def _guarded(nodes: Sequence[NodeStatus], node: NodeStatus, request: Request, mark: CordonMark) -> Cordon | Refuse:
    rooms = [("fleet", list(nodes))]
    if node.group is not None:
        rooms.append((f"group {node.group}", [one for one in nodes if one.group == node.group]))
    for room, members in rooms:
        out = sum(_ours(one) for one in members if one.name != node.name)
        most = limit(request.policy.fleet_share, len(members))
        if out + 1 > most:
            return Refuse(f"guard: {counted(out, 'node', of=len(members))} of the {room} out, at most {most} may be")
    out = sum(_ours(one) for one in nodes if one.name != node.name)
    return Cordon(mark, f"{request.reason}; {counted(out + 1, 'node', of=len(nodes))} out")


def _ours(node: NodeStatus) -> bool:
    return node.mark is not None and node.mark.owner == OWNER


def judge_tend(nodes: Sequence[NodeStatus], isolation: Isolation, *, now: datetime) -> Keep | Turned | Uncordon | Ended:
    """Decide what becomes of an isolated node."""
    node = find(nodes, isolation.node)
    if node is None:
        return _absent(isolation, now)
    if node.mark is None:
        return Ended("uncordoned by hand")
    if node.mark.owner != OWNER:
        return Ended(f"its cordon was taken over by {node.mark.owner}")
    match isolation.way:
        case Way.HELD:
            return Keep()
        case Way.RETURNING:
            return _returning(node, isolation, now)
        case _:
            assert_never(isolation.way)


def _absent(isolation: Isolation, now: datetime) -> Keep | Turned | Ended:
    """A machine that is away may come back as it was; one that is away when its isolation expires is given up."""
    if isolation.way is Way.RETURNING and isolation.until is not None and now >= isolation.until:
        return Ended(f"{isolation.node} left the cluster, and its isolation expired")
    return _unready(isolation)


def _unready(isolation: Isolation) -> Keep | Turned:
    return Keep() if isolation.ready_since is None else Turned(ready=False)


def _returning(node: NodeStatus, isolation: Isolation, now: datetime) -> Keep | Turned | Uncordon:
    since = isolation.ready_since
    if not node.ready:
        return _unready(isolation)
    if since is None:
        return Turned(ready=True)
    if now - since < isolation.release_after:
        return Keep()
    ready, asked = (now - since).total_seconds(), isolation.release_after.total_seconds()
    return Uncordon(f"{node.name} was ready for {ready:.1f} s, {asked:.1f} s asked ({isolation.reason})")


def judge_free(nodes: Sequence[NodeStatus], release: Release) -> Uncordon | Ended | Refuse:
    """Decide what a release does: only keepstep's own mark is removed."""
    node = find(nodes, release.node)
    if node is None and release.isolated:
        return Ended(f"{release.node} left the cluster ({release.because})")
    if node is None:
        return Refuse(f"{release.node} is not in this cluster of {counted(len(nodes), 'node')}")
    if node.mark is None:
        return Ended(f"{node.name} carried no cordon ({release.because})")
    if node.mark.owner != OWNER:
        return Refuse(f"{node.name} is cordoned by {node.mark.owner}, who alone may release it")
    return Uncordon(release.because)
