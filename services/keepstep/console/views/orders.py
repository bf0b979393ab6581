"""What became of an order to create a job."""

from enum import StrEnum

from pydantic import AwareDatetime

from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef


class OrderState(StrEnum):
    """Where an order stands."""

    WAITING = "waiting"
    CREATED = "created"
    REFUSED = "refused"


class OrderView(Frozen):
    """One order to create a job."""

    ordered: JobRef
    """The job as the order calls it."""
    by: str
    at: AwareDatetime
    state: OrderState = OrderState.WAITING
    because: str = ""
    """Why it was refused, with field and remedy; or what was made."""
    job: JobRef | None = None
    """The job that it became: on a Kubernetes under the uid of its object."""
