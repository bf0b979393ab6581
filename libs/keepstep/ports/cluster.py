"""What keepstep asks of a cluster: nodes to fence and tasks to place. Local and Kubernetes adapters pass one suite."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from keepstep.contracts.ids import IncidentId, JobUid, NodeName, TaskUid
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.contracts.topology import TaskLaunch, TaskRef


@dataclass(frozen=True)
class CordonMark:
    """Who cordoned a node and why; keepstep removes only its own."""

    owner: str
    reason: str
    at: datetime
    incident: IncidentId | None = None


@dataclass(frozen=True)
class NodeStatus:
    """A node now; ``mark`` is None when it is schedulable."""

    name: NodeName
    ready: bool
    group: str | None = None
    mark: CordonMark | None = None
    tasks: tuple[TaskUid, ...] = ()


class TaskPhase(StrEnum):
    """Where a task stands in the cluster."""

    PENDING = "pending"
    RUNNING = "running"
    GONE = "gone"


@dataclass(frozen=True)
class TaskStatus:
    """A task now. ``proven`` with GONE: its processes are known to be dead, so its ranks may be given out again."""

    job: JobUid
    ref: TaskRef
    phase: TaskPhase
    node: NodeName | None = None
    by: LossCause | None = None
    proven: bool = False
    text: str = ""
    at: datetime | None = None


class Fleet(Protocol):
    """The nodes; only the isolator writes. Methods raise Transient while the cluster cannot be reached."""

    async def nodes(self) -> tuple[NodeStatus, ...]:
        """Return all nodes, lost ones included with ``ready=False``."""

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        """Keep new tasks off the node; doing it again changes nothing. A foreign mark stays and raises Permanent."""

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        """Let tasks on again if the mark is ``owner``'s or there is none; a foreign mark raises Permanent."""


class Workloads(Protocol):
    """The tasks; only the scheduler-adapter writes. Methods raise Transient while the cluster cannot be reached."""

    async def tasks(self, job: JobUid | None = None) -> tuple[TaskStatus, ...]:
        """Return the tasks the cluster knows, of one job or all; a task that is gone for good may be missing."""

    async def create(self, launches: Sequence[TaskLaunch], *, avoid: frozenset[NodeName]) -> None:
        """Place and start all of them, or none; those that exist already (same uid) are left as they are.

        Nodes in ``avoid``, cordoned and unready ones are not used. Raises NoRoom, which says what is missing.
        """

    async def delete(self, task: TaskUid, *, grace: timedelta) -> None:
        """End the task: SIGTERM, then after ``grace`` SIGKILL; absent is fine. Returns when it is under way."""

    def watch(self) -> AsyncIterator[TaskStatus]:
        """Yield every task's status at start (a relist) and then every change; relists after a gap by itself."""

    def supports(self) -> frozenset[Level]:
        """Return the levels this cluster can do."""
