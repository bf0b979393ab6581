"""Orders as people give them from a terminal: an envelope with who, when and about what."""

import getpass
import os
from datetime import UTC, datetime
from typing import TypeVar

from keepstep.contracts.ids import EventId, IncidentId, NodeName, Pool, derive
from keepstep.contracts.message import Order
from keepstep.contracts.topology import JobRef

O = TypeVar("O", bound=Order)  # noqa: E741 - one letter, like every type variable


def order(
    kind: type[O],
    pool: Pool,
    *,
    job: JobRef | None = None,
    node: NodeName | None = None,
    incident: IncidentId | None = None,
    **payload: object,
) -> O:
    """Return an order given now by the user of this terminal; two orders are two, however alike they are."""
    now = datetime.now(UTC)
    about = job.uid if job is not None else node or incident or pool
    name = derive("order", kind.__name__, about, now.isoformat())
    envelope = {"id": EventId(name), "time": now, "pool": pool, "job": job, "node": node, "incident": incident}
    return kind.model_validate(envelope | {"by": person()} | payload)


def person() -> str:
    """Return who gives orders here: the login name, or the number of a user who has none, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
