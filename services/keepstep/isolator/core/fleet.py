"""What an observed fleet allows: pure judgements on nodes as they are, made right before acting."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from keepstep.contracts.ids import NodeName
from keepstep.contracts.message import instant
from keepstep.core.node_standing import OWNER
from keepstep.core.sentences import counted
from keepstep.isolator.core.answers import mark_reason
from keepstep.isolator.core.guard import NOBODY, out_of, refused_by_guard
from keepstep.isolator.core.state import Asker, Drain, Isolation, Release, Request, Way, place_of
from keepstep.ports.cluster import Census, CordonMark, NodeStatus, Stay


@dataclass(frozen=True)
class Cordon:
    """Do it, with this mark."""

    mark: CordonMark
    because: str


@dataclass(frozen=True)
class Withhold:
    """Keep this one device from jobs, with this mark."""

    device: str
    mark: CordonMark
    because: str


@dataclass(frozen=True)
class Refuse:
    """Leave the node as it is."""

    because: str


@dataclass(frozen=True)
class Uncordon:
    """Take keepstep's mark off the node, or off the device that is meant."""

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


@dataclass(frozen=True)
class Wait:
    """Ask again after this pause."""

    pause: timedelta


@dataclass(frozen=True)
class Emptied:
    """The drain is over; ``left`` still ran there when it ended."""

    left: tuple[str, ...]
    forced: bool
    because: str


EMPTY_EVERY = timedelta(seconds=5)
"""Pods take 30 s to end by default, and a budget is counted anew when one of them is ready elsewhere."""


def judge_fence(census: Census, request: Request, *, leaving: Set[NodeName] = NOBODY) -> Cordon | Withhold | Refuse:
    """Decide whether node or device may be taken out: foreign marks stay, rules keep to the guard, people know better.

    Where only a device is to blame and its node can do without it, the node goes on taking jobs. ``leaving`` are the
    nodes that are being taken out at this moment: they count as out.
    """
    node = census.nodes.get(request.node)
    if node is None:
        return Refuse(_nowhere(request.node, census))
    if node.mark is not None and node.mark.owner != OWNER:
        return Refuse(f"{node.name} is cordoned by {node.mark.owner}: left as it is")
    mark = CordonMark(
        owner=OWNER, reason=mark_reason(request), at=request.origin.time, incident=request.origin.incident
    )
    match request.asker:
        case Asker.PERSON:
            return Cordon(mark, f"asked for by {request.by}: {request.reason}")
        case Asker.RULE:
            return _ruled(census, node, request, mark, out=out_of(census, leaving) - {node.name})
        case _:
            assert_never(request.asker)


def _nowhere(name: NodeName, census: Census) -> str:
    return f"{name} is not in this cluster of {counted(len(census.nodes), 'node')}"


def _ruled(
    census: Census, node: NodeStatus, request: Request, mark: CordonMark, *, out: Set[NodeName]
) -> Cordon | Withhold | Refuse:
    device = request.device if node.withholds else None
    known = next((one.mark for one in node.withheld if one.device == device), node.mark)
    if known is not None and known != mark:
        place = place_of(node.name, device) if known is not node.mark else node.name
        return Refuse(f"{place} is already isolated since {instant(known.at)}: {known.reason}")
    guard = refused_by_guard(census, node, request.policy, out=out)
    if guard:
        return Refuse(guard)
    because = f"{request.reason}; {counted(len(out) + 1, 'node', of=len(census.nodes))} out"
    if device is None:
        return Cordon(mark, because)
    return Withhold(device, mark, f"{because}, of {node.name} its device {device} alone")


def judge_tend(node: NodeStatus | None, isolation: Isolation, *, now: datetime) -> Keep | Turned | Uncordon | Ended:
    """Decide what becomes of an isolated node; ``node`` is None when it is not in the cluster."""
    if node is None:
        return _absent(isolation, now)
    ended = _taken_back(node, isolation)
    if ended:
        return Ended(ended)
    match isolation.way:
        case Way.HELD:
            return Keep()
        case Way.RETURNING:
            return _returning(node, isolation, now)
        case _:
            assert_never(isolation.way)


def _taken_back(node: NodeStatus, isolation: Isolation) -> str:
    """Return whose hand ended the isolation, or "" while it stands."""
    if isolation.device is not None:
        there = any(one.device == isolation.device for one in node.withheld)
        return "" if there else f"device {isolation.device} was given back by hand"
    if node.mark is None:
        return "uncordoned by hand"
    return "" if node.mark.owner == OWNER else f"its cordon was taken over by {node.mark.owner}"


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


def judge_free(census: Census, release: Release) -> Uncordon | Ended | Refuse:
    """Decide what a release does: only keepstep's own mark is removed."""
    node = census.nodes.get(release.node)
    if node is None and release.isolated:
        return Ended(f"{release.node} left the cluster ({release.because})")
    if node is None:
        return Refuse(_nowhere(release.node, census))
    if release.device is not None:
        return Uncordon(release.because)
    if node.mark is None:
        return Ended(f"{node.name} carried no cordon ({release.because})")
    if node.mark.owner != OWNER:
        return Refuse(f"{node.name} is cordoned by {node.mark.owner}, who alone may release it")
    return Uncordon(release.because)


def judge_empty(stays: Sequence[Stay], drain: Drain, *, now: datetime) -> Wait | Emptied:
    """Decide what becomes of an isolated node's other pods: asked again until gone, or until the drain's deadline."""
    if not stays:
        return Emptied((), forced=False, because="nothing of others is left there")
    if now < drain.until:
        asked = max((one.again for one in stays), default=timedelta(0))
        return Wait(min(max(asked, EMPTY_EVERY), drain.until - now))
    left = tuple(f"{one.pod}: {one.why}" for one in stays)
    because = f"{counted(len(left), 'pod')} did not leave by {instant(drain.until)}"
    ends = "; driven out, as the policy asks" if drain.force else "; left there: their budgets say so"
    return Emptied(left, forced=drain.force, because=because + ends)
