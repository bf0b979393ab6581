"""Where tasks go: all of them or none, on free nodes of the job's group; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from keepstep.contracts.ids import NodeName
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import NodeStatus, TaskStatus
from keepstep.ports.errors import NoRoom

RETRY_AFTER = timedelta(seconds=0.5)
"""A node that returns is used within half a second; asking all supervisors costs about a millisecond each."""


@dataclass(frozen=True)
class Room:
    """A node with the tasks that may still have processes on it."""

    node: NodeStatus
    slots: int
    tasks: tuple[TaskStatus, ...] = ()

    def obstacle(self, launch: TaskLaunch, avoid: frozenset[NodeName]) -> str | None:
        """Return why the task cannot go here, or None."""
        node, mark = self.node, self.node.mark
        if not node.ready:
            return f"{node.name} is not ready"
        if mark is not None:
            return f"{node.name} is cordoned by {mark.owner} ({mark.reason})"
        if node.name in avoid:
            return f"{node.name} is to be avoided"
        if len(self.tasks) >= self.slots or any(task.job == launch.job.uid for task in self.tasks):
            return f"{node.name} runs {', '.join(f'{task.ref.name} of job {task.job}' for task in self.tasks)}"
        return None


def place(
    launches: Sequence[TaskLaunch], rooms: Sequence[Room], *, avoid: frozenset[NodeName]
) -> list[tuple[TaskLaunch, NodeName]]:
    """Return a node for each launch, lowest index to first free node, a node of its own each.

    A job without a node group uses nodes without one: the nodes of a private run are not for others. Raises NoRoom,
    which says how many of how many nodes are free and what is wrong with the others.
    """
    placed: list[tuple[TaskLaunch, NodeName]] = []
    for launch in sorted(launches, key=lambda launch: launch.task.index):
        group = [room for room in rooms if room.node.group == launch.spec.node_group]
        taken = {node for _, node in placed}
        free = [room.node.name for room in group if room.obstacle(launch, avoid) is None]
        left = [node for node in free if node not in taken]
        if not left:
            raise NoRoom(_missing(launch, group, len(launches), len(free), avoid), retry_after=RETRY_AFTER)
        placed.append((launch, left[0]))
    return placed


def _missing(launch: TaskLaunch, group: Sequence[Room], wanted: int, free: int, avoid: frozenset[NodeName]) -> str:
    where = f"in group {launch.spec.node_group}" if launch.spec.node_group is not None else "without a group"
    obstacles = [why for room in group if (why := room.obstacle(launch, avoid)) is not None]
    reasons = f": {'; '.join(obstacles)}" if obstacles else ""
    return f"needs {wanted} {'node' if wanted == 1 else 'nodes'} {where}, {free} of {len(group)} free{reasons}"
