"""Keeps the census of a fleet: what is out and how big each group is, at hand while nodes come and go.

Whoever judges 200 nodes of 10,000 in one moment asks 200 times; no answer may look through the 10,000.
"""

from collections.abc import Iterable

from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import Census, NodeStatus


class Roll:
    """The nodes by name, counted as they come and go."""

    def __init__(self, nodes: Iterable[NodeStatus] = ()) -> None:
        self._nodes: dict[NodeName, NodeStatus] = {}
        self._marked: set[NodeName] = set()
        self._groups: dict[str, int] = {}
        self.census = Census(self._nodes, self._marked, self._groups)
        for node in nodes:
            self.put(node)

    def put(self, node: NodeStatus) -> None:
        """Take in a node as it is now."""
        before = self._nodes.get(node.name)
        if before == node:
            return
        self._count(before, -1)
        self._nodes[node.name] = node
        self._count(node, +1)
        if node.mark is not None or node.withheld:
            self._marked.add(node.name)
        else:
            self._marked.discard(node.name)

    def drop(self, name: NodeName) -> None:
        """Take out a node that left the cluster."""
        self._count(self._nodes.pop(name, None), -1)
        self._marked.discard(name)

    def _count(self, node: NodeStatus | None, by: int) -> None:
        if node is None or node.group is None:
            return
        self._groups[node.group] = self._groups.get(node.group, 0) + by
        if not self._groups[node.group]:
            del self._groups[node.group]
