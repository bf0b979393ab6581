"""The plan board: desired state of every job's ranks, one small head per job and one entry per task (PROTOCOL 4)."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.orders import PlanEntry, PlanHead


class PlanBoard(Protocol):
    """Where the scheduler-adapter writes plans and agents read them; every method raises Transient when cut off."""

    async def publish(self, head: PlanHead, entries: Sequence[PlanEntry] = ()) -> None:
        """Write the entries, then the head; an older plan than the one on the board (generation, phase) is dropped."""

    async def read(self, job: JobUid) -> PlanHead | None:
        """Return the job's current head, or None before the first plan."""

    async def entry(self, job: JobUid, task: TaskUid) -> PlanEntry | None:
        """Return what the current plan has for one task, or None."""

    def watch(self, job: JobUid) -> AsyncIterator[PlanHead]:
        """Yield the current head, if any, and then every change, for ever: outages and restarts end nothing.

        A head may be yielded twice and intermediate heads may be skipped; the newest is always yielded.
        """

    async def remove(self, job: JobUid) -> None:
        """Take the job's head and entries off the board; absent is fine."""
