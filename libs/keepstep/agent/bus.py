"""What an agent needs of the bus, and when it counts as cut off."""

from collections.abc import AsyncIterator
from typing import Protocol

from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.telemetry import Heartbeat


class Bus(Protocol):
    """Where an agent speaks and hears; no method ends because the bus is away, except ``entry`` (Transient)."""

    @property
    def connected(self) -> bool:
        """Whether the bus can be reached now."""

    async def say(self, message: Message) -> None:
        """Return when the stream has the message; raises Permanent if it never will."""

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Send a heartbeat, or drop it while cut off."""

    def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the job's plan head now and at every change, for ever."""

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return what the plan has for the task; raises Transient while cut off."""


class CutOff:
    """Since when the bus has not answered: the connection is down, or a message waits longer than an answer takes."""

    PATIENCE_S = 5.0
    """An answer takes below 1 ms; a server that restarts is back within a second or two."""

    def __init__(self) -> None:
        self._since: float | None = None

    def lasted_s(self, now: float, *, connected: bool, unanswered_s: float) -> float:
        """Return for how long (seconds) the agent has been cut off at ``now`` (monotonic), 0 when it is not."""
        if connected and unanswered_s < self.PATIENCE_S:
            self._since = None
            return 0.0
        if self._since is None:
            self._since = now - (unanswered_s if connected else 0.0)
        return now - self._since
