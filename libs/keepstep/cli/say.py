"""Orders as people give them from a terminal: now, and by the user of it."""

import getpass
import os
import platform
from datetime import UTC, datetime
from typing import TypeVar

from keepstep.contracts.ids import IncidentId, NodeName, Pool
from keepstep.contracts.message import Order
from keepstep.contracts.topology import JobRef
from keepstep.core.ordering import ordered

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
    return ordered(
        kind, pool, by=person(), now=now, given=place(), job=job, node=node, incident=incident, **payload
    )  # fmt: skip


def place() -> str:
    """Return which process it is that gives an order, in which a microsecond has room for one."""
    return f"{platform.node()}/{os.getpid()}"


def person() -> str:
    """Return who gives orders here: the login name, or the number of a user who has none, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
