"""Orders as people give them from a terminal: now, by the user of it, and with an end to the wait for the bus."""

import getpass
import os
import platform
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from keepstep.cli.errors import Failed
from keepstep.contracts.ids import IncidentId, NodeName, Pool
from keepstep.contracts.message import Message, Order
from keepstep.contracts.topology import JobRef
from keepstep.core.ordering import ordered
from keepstep.runtime.tasks import within

O = TypeVar("O", bound=Order)  # noqa: E741 - one letter, like every type variable

GIVE_S = 30.0
"""A restart of the bus takes a second, a new leader of its stream a few; who waits longer than this wonders why."""


class Stream(Protocol):
    """What takes messages."""

    async def say(self, message: Message) -> None:
        """Return once the message is stored."""


async def give(client: Stream, message: Message, *, within_s: float = GIVE_S) -> None:
    """Say the message; raises Failed if the bus has not taken it in time, with what to look at."""
    try:
        await within(client.say(message), within_s)
    except TimeoutError as error:
        raise Failed(
            f"the bus has not said within {within_s:g} s that it has the {type(message).__name__}: is it away, or its"
            " disk full? keepstep events shows whether it was taken, before you ask again"
        ) from error


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
