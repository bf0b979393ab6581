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
    given: str = "",
    job: JobRef | None = None,
    node: NodeName | None = None,
    incident: IncidentId | None = None,
    **payload: object,
) -> O:
    """Return an order that ``by`` gives now; two orders are two, however alike they are.

    The id is of all that is ordered, and of where and as which one it was ``given``: one microsecond has room for two.
    """
    envelope = {"id": EventId(""), "time": now, "pool": pool, "job": job, "node": node, "incident": incident}
    order = kind.model_validate(envelope | {"by": by} | payload)
    said = order.model_dump_json(exclude={"id"})
    return order.model_copy(update={"id": EventId(derive("order", kind.__name__, said, given))})


def creation(
    spec: JobSpec,
    pool: Pool,
    *,
    by: str,
    now: datetime,
    given: str = "",
    role: Role | None = None,
    kubernetes: KubernetesJob | None = None,
) -> CreateJob:
    """Return the order to create a job, whose uid follows from the order; an object of a cluster gets its own."""
    said = ordered(CreateJob, pool, by=by, now=now, given=given, spec=spec, role=role, kubernetes=kubernetes)
    return said.model_copy(update={"job": JobRef(name=spec.name, uid=JobUid(derive("job", said.id)))})
