"""How much of a fleet rules may take out at once: a share of all, and of each rack or switch (PROTOCOL section 5)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set

from keepstep.contracts.ids import NodeName
from keepstep.contracts.policy import IsolationPolicy
from keepstep.core.node_standing import OWNER
from keepstep.core.sentences import counted
from keepstep.ports.cluster import Census, NodeStatus

NOBODY: frozenset[NodeName] = frozenset()


def limit(share: float, total: int) -> int:
    """Return how many of ``total`` may be out at once: max(1, share), PROTOCOL section 5."""
    return max(1, int(share * total))


def out_of(census: Census, leaving: Set[NodeName] = NOBODY) -> Set[NodeName]:
    """Return the nodes that keepstep took out, or is taking out."""
    return {name for name in census.marked if _ours(census.nodes[name])} | (leaving & census.nodes.keys())


def _ours(node: NodeStatus) -> bool:
    return bool(node.withheld) or (node.mark is not None and node.mark.owner == OWNER)


def refused_by_guard(census: Census, node: NodeStatus, policy: IsolationPolicy, *, out: Set[NodeName]) -> str:
    """Return why no more may be out, or "". A node without one of its devices counts as out: sensors fail by type."""
    rooms = [("fleet", len(out), len(census.nodes))]
    if node.group is not None:
        there = sum(census.nodes[one].group == node.group for one in out)
        rooms.append((f"group {node.group}", there, census.groups[node.group]))
    for room, count, members in rooms:
        most = limit(policy.fleet_share, members)
        if count + 1 > most:
            return f"guard: {counted(count, 'node', of=members)} of the {room} out, at most {most} may be"
    return ""


def budget_left(census: Census, policies: Iterable[IsolationPolicy]) -> Mapping[str, int]:
    """Return how many more nodes rules may take out of the ``fleet`` and of its fullest ``group``.

    By the strictest of the policies; without groups, of the fleet alone.
    """
    share = min((one.fleet_share for one in policies), default=IsolationPolicy().fleet_share)
    out = out_of(census)
    left = {"fleet": limit(share, len(census.nodes)) - len(out)}
    if census.groups:
        there = Counter(census.nodes[name].group for name in out)
        left["group"] = min(limit(share, members) - there[group] for group, members in census.groups.items())
    return {room: max(0, count) for room, count in left.items()}
