"""Orders as people give them: an envelope with who, when and about what."""

from datetime import datetime
from typing import TypeVar

from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, Pool, derive
from keepstep.contracts.kubernetes import KubernetesJob
from keepstep.contracts.message import Order
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.taxonomy import Role
from keepstep.contracts.topology import JobRef, JobSpec

O = TypeVar("O", bound=Order)  # noqa: E741 - one letter, like every type variable


def ordered(
    kind: type[O],
    pool: Pool,
    *,
    by: str,
    now: datetime,
    job: JobRef | None = None,
    node: NodeName | None = None,
    incident: IncidentId | None = None,
    **payload: object,
) -> O:
    """Return an order that ``by`` gives now; two orders are two, however alike they are."""
    about = job.uid if job is not None else node or incident or pool
    name = derive("order", kind.__name__, about, now.isoformat())
    envelope = {"id": EventId(name), "time": now, "pool": pool, "job": job, "node": node, "incident": incident}
    return kind.model_validate(envelope | {"by": by} | payload)


def creation(
    spec: JobSpec,
    pool: Pool,
    *,
    by: str,
    now: datetime,
    role: Role | None = None,
    kubernetes: KubernetesJob | None = None,
) -> CreateJob:
    """Return the order to create a job, whose uid follows from the order; an object of a cluster gets its own."""
    said = ordered(CreateJob, pool, by=by, now=now, spec=spec, role=role, kubernetes=kubernetes)
    return said.model_copy(update={"job": JobRef(name=spec.name, uid=JobUid(derive("job", said.id)))})
