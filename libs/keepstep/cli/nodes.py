"""Local nodes as a listing shows them: how they are, or how the stack that kept them has left them."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.adapters.local_files import folders
from keepstep.ports.cluster import NodeStatus


@dataclass(frozen=True)
class ListedNode:
    """One node; ``ended``: nothing of it is meant to run any more."""

    status: NodeStatus
    ended: bool

    @property
    def state(self) -> str:
        """How it stands, in a word."""
        if self.status.mark is not None and (self.ended or self.status.ready):
            return "isolated"
        if self.ended:
            return "ended"
        return "ready" if self.status.ready else "lost"

    @property
    def kept_by(self) -> str:
        """Who keeps jobs off it, and why; a dash for nobody."""
        mark = self.status.mark
        return "-" if mark is None else f"{mark.owner}: {mark.reason}"

    def as_object(self) -> dict[str, object]:
        """Return it with stable keys, for ``--json``."""
        mark = self.status.mark
        kept = None if mark is None else dataclasses.asdict(mark) | {"at": mark.at.isoformat()}
        return dataclasses.asdict(self.status) | {"mark": kept, "state": self.state}


async def listed_nodes(cluster: Path, *, ended: bool) -> tuple[ListedNode, ...]:
    """Return the nodes of a local cluster; those of an ended one with the tasks that were there last."""
    nodes = await LocalCluster(cluster).nodes()
    if not ended:
        return tuple(ListedNode(node, ended=False) for node in nodes)
    had = {folder.name: tuple(task.ref.uid for task in folder.statuses()) for folder in folders(cluster)}
    return tuple(ListedNode(dataclasses.replace(node, tasks=had[node.name]), ended=True) for node in nodes)
