"""What keepstep asks of a cluster: nodes to fence and tasks to place. Local and Kubernetes adapters pass one suite."""

from collections.abc import AsyncIterator, Mapping, Sequence, Set
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
class Withheld:
    """A device of a node that is kept from jobs, and why."""

    device: str
    mark: CordonMark


@dataclass(frozen=True)
class NodeStatus:
    """A node now; ``mark`` is None when it is schedulable."""

    name: NodeName
    ready: bool
    group: str | None = None
    mark: CordonMark | None = None
    tasks: tuple[TaskUid, ...] = ()
    withholds: bool = False
    """Whoever gives out the node's devices leaves out those that are withheld; else only the whole node can be."""
    withheld: tuple[Withheld, ...] = ()


@dataclass(frozen=True)
class Census:
    """All nodes at one moment, as a guard counts them; where a cluster is followed, a view that follows too."""

    nodes: Mapping[NodeName, NodeStatus]
    marked: Set[NodeName]
    """Those that carry a cordon, whoever's, or have devices withheld."""
    groups: Mapping[str, int]
    """How many nodes each group has."""


@dataclass(frozen=True)
class Stay:
    """A pod that is still on a node that is to be empty, why, and when it is worth asking again."""

    pod: str
    why: str
    again: timedelta = timedelta(0)


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

    async def census(self) -> Census:
        """Return the same nodes, counted; where the cluster is followed this costs nothing, however many there are."""

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        """Keep new tasks off the node; doing it again changes nothing. A foreign mark stays and raises Permanent."""

    async def uncordon(self, node: NodeName, *, owner: str) -> None:
        """Let tasks on again if the mark is ``owner``'s or there is none; a foreign mark raises Permanent."""


class Devices(Protocol):
    """Single devices of nodes, where ``NodeStatus.withholds``; only the isolator writes. Methods raise Transient."""

    async def withhold(self, node: NodeName, device: str, mark: CordonMark) -> None:
        """Keep one device from new tasks; again changes nothing. Permanent where nothing would heed it."""

    async def give_back(self, node: NodeName, device: str) -> None:
        """Let tasks have the device again; one that is not withheld is left as it is."""


class Evictions(Protocol):
    """What else runs on the nodes; only the isolator moves it. Methods raise Transient while nobody answers."""

    async def evict(self, node: NodeName, *, why: str) -> tuple[Stay, ...]:
        """Ask for the eviction of what is not keepstep's and may leave; return what is still there.

        Tasks of keepstep's jobs are left to the scheduler-adapter, and so is what belongs to the node itself.
        """

    async def drive_out(self, node: NodeName, *, why: str) -> None:
        """Let nothing run on the isolated node that does not tolerate it, whatever budgets say."""


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
