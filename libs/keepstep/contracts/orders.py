"""What people ask for, and the plan that agents reconcile towards."""

from pydantic import Field

from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, TaskUid, derive
from keepstep.contracts.kubernetes import KubernetesJob
from keepstep.contracts.message import Order
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import PlanPhase
from keepstep.contracts.topology import Device, JobSpec


class CreateJob(Order):
    """Create a job; heard by scheduler-adapter."""

    spec: JobSpec
    kubernetes: KubernetesJob | None = None
    """Where a controller of a Kubernetes makes its pods: the object that is to be made, which has a uid of its own."""


class StopJob(Order):
    """Stop a job's ranks and release its tasks; heard by scheduler-adapter."""

    reason: str = ""


class DeleteJob(Order):
    """Stop a job and forget it; heard by scheduler-adapter."""


class IsolateNode(Order):
    """Cordon a node by hand; heard by isolator."""

    reason: str


class ReleaseNode(Order):
    """Take back keepstep's cordon of a node; heard by isolator."""

    reason: str = ""


class DrainNode(Order):
    """Cordon a node and move its tasks away; heard by isolator and scheduler-adapter."""

    reason: str


class PauseActions(Order):
    """Observe only, for a job or, without one, the pool; heard by scheduler-adapter and isolator."""


class ResumeActions(Order):
    """Act again; heard by scheduler-adapter and isolator."""


class AckIncident(Order):
    """A person looks after the incident; heard by diagnoser."""


class Peer(Frozen):
    """Where one task's ranks are reached: what frameworks that do not meet at a master have to be told of all tasks."""

    address: str
    port: int = 0
    devices: tuple[Device, ...] = ()


class PlanHead(Frozen):
    """The desired state of a job's ranks; small at any size of job. Lives in the plan bucket under the job's uid."""

    job: JobUid
    generation: int = Field(ge=1)
    phase: PlanPhase
    world_size: int = Field(ge=1)
    master_address: str = ""
    master_port: int = 0
    resume_step: int | None = None
    resume_path: str | None = None
    incident: IncidentId | None = None
    attempt: int = 0
    cause: EventId | None = None
    entries_digest: str = ""
    exit_code: int = Field(default=0, ge=0, le=255)
    """What launchers leave with when the plan ends: in a cluster it makes the pod Succeeded or Failed."""

    peers: tuple[Peer, ...] = ()
    """By task index; for frameworks other than PyTorch, which bounds their jobs to some 500 tasks of eight devices."""

    @property
    def place(self) -> tuple[int, int]:
        """Where this plan stands in the job's life: generation, then stop, run, end."""
        return self.generation, tuple(PlanPhase).index(self.phase)

    @property
    def digest(self) -> str:
        """Identity of this plan: an agent that applied the digest has nothing left to do."""
        return derive(self.model_dump_json())


class PlanEntry(Frozen):
    """What one task runs in this generation. Lives in the plan bucket under ``<job uid>.<task uid>``."""

    job: JobUid
    task: TaskUid
    node: NodeName
    generation: int
    ranks: tuple[int, ...]
    devices: tuple[str, ...] = ()
    """Devices that are given to the ranks, local rank ascending; filled by clusters that assign devices. Empty: all."""


def entries_digest(entries: tuple[PlanEntry, ...]) -> str:
    """Return one digest over all entries, in the order given."""
    return derive(*(entry.model_dump_json() for entry in entries))
