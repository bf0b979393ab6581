"""Saying DeadlinePassed when a moment that a fold waits for has come, also after a restart."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from keepstep.contracts.events import DeadlinePassed
from keepstep.contracts.ids import EventId, Pool, derive
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import JobRef
from keepstep.core.decision import Deadline
from keepstep.ports.clock import Clock

LONGEST_NAP_S = 30.0
"""The wall clock is read again at least this often, so that a clock that was set is noticed."""


class Deadlines:
    """The moments that the folds of one service wait for, one timer each."""

    def __init__(
        self, service: Service, pool: Pool, *, clock: Clock, say: Callable[[Message], Awaitable[None]]
    ) -> None:
        self._service = service
        self._pool = pool
        self._clock = clock
        self._say = say
        self._waiting: dict[str, dict[Deadline, asyncio.Task[None]]] = {}

    def reconcile(self, fold: str, deadlines: Sequence[Deadline], *, job: JobRef | None) -> None:
        """Start timers of new deadlines and stop those the fold no longer has; what was said is not said again."""
        waiting, wanted = self._waiting.setdefault(fold, {}), frozenset(deadlines)
        for gone in [deadline for deadline in waiting if deadline not in wanted]:
            waiting.pop(gone).cancel()
        for deadline in deadlines:
            if deadline not in waiting:
                name = f"deadline {fold} {deadline.what}"
                waiting[deadline] = asyncio.create_task(self._wait(fold, deadline, job), name=name)
        if not waiting:
            del self._waiting[fold]

    def close(self) -> list[asyncio.Task[None]]:
        """Stop all timers and return what is still ending."""
        tasks = [task for waiting in self._waiting.values() for task in waiting.values()]
        for task in tasks:
            task.cancel()
        self._waiting.clear()
        return tasks

    async def _wait(self, fold: str, deadline: Deadline, job: JobRef | None) -> None:
        while (left := (deadline.due - self._clock.now()).total_seconds()) > 0:  # noqa: ASYNC110 - an instant has no event
            await asyncio.sleep(min(left, LONGEST_NAP_S))
        await self._say(
            DeadlinePassed(
                id=deadline_id(self._service, fold, deadline),
                time=self._clock.now(),
                pool=self._pool,
                job=job,
                service=self._service,
                scope=fold,
                what=deadline.what,
                due=deadline.due,
            )
        )


def deadline_id(service: Service, scope: str, deadline: Deadline) -> EventId:
    """Return the id of the DeadlinePassed of one deadline: the same however often and by whomever it is said."""
    return EventId(derive("deadline", service, scope, deadline.what, deadline.due.isoformat()))
