"""A way to reach people."""

from dataclasses import dataclass
from typing import Protocol

from keepstep.contracts.ids import IncidentId
from keepstep.contracts.taxonomy import Severity


@dataclass(frozen=True)
class Notice:
    """One message of an incident's thread; ``thread`` groups them, ``sequence`` orders them."""

    id: str
    """The same at every try: a notifier that dies right after a delivery delivers again, so channels that can
    deduplicate are to be given it, and the others must let people see that both are one."""
    thread: IncidentId | str
    sequence: int
    severity: Severity
    title: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()


class Sink(Protocol):
    """One channel."""

    async def deliver(self, notice: Notice) -> None:
        """Deliver or raise: Transient to be tried again, Permanent to be dropped with the reason."""
