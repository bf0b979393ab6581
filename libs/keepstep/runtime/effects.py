"""Doing what the folds want done, until it is done or no longer wanted."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from structlog.typing import FilteringBoundLogger

from keepstep.contracts.message import Message
from keepstep.core.decision import Effect
from keepstep.ports.errors import Transient
from keepstep.runtime.failsafe import guarded
from keepstep.runtime.pace import Pace


class Effects:
    """The effects under way and done, by fold; a successor starts them again, so each must look before it acts."""

    def __init__(
        self,
        act: Callable[[Effect], Awaitable[Iterable[Message]]],
        say: Callable[[Message], Awaitable[None]],
        *,
        pace: Pace,
        log: FilteringBoundLogger,
        noted: Callable[[Exception | None], None],
    ) -> None:
        self._act = act
        self._say = say
        self._pace = pace
        self._log = log
        self._noted = noted
        self._wanted: dict[str, dict[str, asyncio.Task[None]]] = {}

    def reconcile(self, fold: str, wanted: Sequence[Effect]) -> None:
        """Start what the fold newly wants and cancel what it no longer wants; what is done stays done meanwhile."""
        running = self._wanted.setdefault(fold, {})
        names = {effect.id for effect in wanted}
        for name in [name for name in running if name not in names]:
            running.pop(name).cancel()
        for effect in wanted:
            if effect.id not in running:
                running[effect.id] = asyncio.create_task(self._pursue(fold, effect), name=f"effect {effect.id}")
        if not running:
            del self._wanted[fold]

    def close(self) -> list[asyncio.Task[None]]:
        """Cancel everything and return what is still ending."""
        tasks = [task for running in self._wanted.values() for task in running.values()]
        for task in tasks:
            task.cancel()
        self._wanted.clear()
        return tasks

    async def _pursue(self, fold: str, effect: Effect) -> None:
        """Try until done or no longer wanted; a cancellation alone may be forgotten (see ``tasks.end``)."""
        tries = 0
        while self._wanted.get(fold, {}).get(effect.id) is asyncio.current_task():
            tries += 1
            with guarded() as outcome:
                for message in await self._act(effect):
                    await self._say(message)
            self._noted(outcome.error)
            if outcome.error is None:
                self._log.info("effect done", effect=type(effect).__name__, id=effect.id, key=fold, tries=tries)
                return
            await asyncio.sleep(self._after(outcome.error, tries, fold=fold, effect=effect))

    def _after(self, error: Exception, tries: int, *, fold: str, effect: Effect) -> float:
        """Log a failed try and return how many seconds to wait; a Transient names its own first wait."""
        described = {"effect": type(effect).__name__, "id": effect.id, "key": fold, "tries": tries}
        wait = self._pace.retry_s(tries)
        if isinstance(error, Transient):
            if tries == 1:
                self._log.warning("effect must wait", because=str(error), **described)
            return self._pace.asked_s(error.retry_after, tries)
        self._log.error("effect failed", exc_info=error, wait_s=wait, **described)
        return wait
