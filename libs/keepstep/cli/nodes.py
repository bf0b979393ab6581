"""Local nodes as a listing shows them: how they are, or how the stack that kept them has left them."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from keepstep.adapters.local_cluster import LocalCluster
from keepstep.adapters.local_files import folders
from keepstep.cli.on_cluster import cluster_nodes
from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.core.node_standing import NodeState, node_states
from keepstep.ports.cluster import NodeStatus, TaskStatus


@dataclass(frozen=True)
class ListedNode:
    """One node; ``ended``: nothing of it is meant to run any more."""

    status: NodeStatus
    ended: bool

    @property
    def states(self) -> tuple[NodeState, ...]:
        """All that holds of it, the gravest first."""
        return node_states(ready=self.status.ready, isolated=self.status.mark is not None, ended=self.ended)

    @property
    def state(self) -> str:
        """How it stands, in a word or two: ``lost, isolated``."""
        return ", ".join(self.states)

    @property
    def kept_by(self) -> str:
        """Who keeps jobs off it, and why; a dash for nobody."""
        mark = self.status.mark
        return "-" if mark is None else f"{mark.owner}: {mark.reason}"

    def as_object(self) -> dict[str, object]:
        """Return it with stable keys, for ``--json``."""
        mark = self.status.mark
        kept = None if mark is None else dataclasses.asdict(mark) | {"at": mark.at.isoformat()}
        return dataclasses.asdict(self.status) | {"mark": kept, "state": self.states[0], "states": self.states}


async def listed_of(where: str) -> tuple[ListedNode, ...]:
    """Return the nodes of a Kubernetes as they are now. Raises KeepstepError."""
    return tuple(ListedNode(node, ended=False) for node in await cluster_nodes(where))


async def listed_nodes(cluster: Path, *, ended: bool) -> tuple[ListedNode, ...]:
    """Return the nodes of a local cluster; those of an ended one with the tasks that were there at its end."""
    nodes = await LocalCluster(cluster).nodes()
    if not ended:
        return tuple(ListedNode(node, ended=False) for node in nodes)
    known = {folder.name: folder.statuses() for folder in folders(cluster)}
    last = _last(task for tasks in known.values() for task in tasks)
    had = {name: tuple(task.ref.uid for task in tasks if task.ref.uid in last) for name, tasks in known.items()}
    return tuple(ListedNode(dataclasses.replace(node, tasks=had[node.name]), ended=True) for node in nodes)


def _last(tasks: Iterable[TaskStatus]) -> frozenset[TaskUid]:
    """Return of each task of a job the one that was there last: a task that was replaced has its folder still."""
    newest: dict[tuple[JobUid, str], TaskUid] = {}
    for task in sorted(tasks, key=_told_at):
        newest[task.job, task.ref.name] = task.ref.uid
    return frozenset(newest.values())


def _told_at(task: TaskStatus) -> datetime:
    """Return since when the task has stood so; one of which no end was told was there last."""
    return datetime.max.replace(tzinfo=UTC) if task.at is None else task.at
