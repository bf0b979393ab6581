"""Folds as they were when they were last acknowledged, after a restart, a take-over or the loss of the store.

Rebuilding only folds: nothing is said, done or written. What a fold wants is taken up again once deliveries flow.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from structlog.typing import FilteringBoundLogger

from keepstep.contracts.events import FoldRestated
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import JobRef
from keepstep.runtime.advance import Step, Wants, advance, drop_if_over, fold_key, hears_of, kinds_of, wants_of
from keepstep.runtime.client import Client
from keepstep.runtime.failsafe import guarded
from keepstep.runtime.fold import noted_as_said
from keepstep.runtime.folds import Folds
from keepstep.runtime.intake import Heard, recognise
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.names import event_subjects, kind_subjects, stream_name, stream_subjects
from keepstep.runtime.restating import restored
from keepstep.runtime.stage import Stage
from keepstep.runtime.tail import Reading, Stored, read

S = TypeVar("S", bound=Frozen)

Minded = Callable[[str, Wants, JobRef | None], None]
"""Whoever minds what the fold of a key wants."""


class Rebuild(Generic[S]):
    """The folds of one stage, on their way back."""

    def __init__(self, stage: Stage[S], folds: Folds[S], *, metrics: Metrics, log: FilteringBoundLogger) -> None:
        self._stage = stage
        self._folds = folds
        self._metrics = metrics
        self._log = log

    async def run(self, client: Client, *, first: int, last: int) -> None:
        """Bring folds that the store lost or holds too old up to ``last``, from ``first`` on. Raises Transient.

        What folds up to there made the service say was said before it was acknowledged.
        """
        for key in self._folds.states:
            fold = self._folds.get(key)
            if fold is not None and fold.applied <= last:
                self._folds.put(key, noted_as_said(fold))
        if first > last:
            return
        if first == 1:
            await self._restore(client)
        count = 0
        kinds = tuple(kind_subjects(client.pool, kinds_of(self._stage), hearer=self._stage.service))
        reading = Reading(stream_name(client.pool), stream_subjects(client.pool), first=first, only=kinds)
        async for stored in read(client.js, reading, last=last):
            match recognise(stored, hears_of(self._stage)):
                case Heard(message):
                    self._replay(stored, message)
                case _:
                    pass
            count += 1
        self._log.info("replayed", first=first, last=last, messages=count, folds=len(self._folds.states))

    async def _restore(self, client: Client) -> None:
        """Begin with what was restated last: the stream may have lost everything before it to its age."""
        subjects = event_subjects(client.pool, FoldRestated.__name__)
        async for stored in read(client.js, Reading(stream_name(client.pool), subjects, last_only=True)):
            match recognise(stored, (FoldRestated,)):
                case Heard(FoldRestated() as event) if event.service is self._stage.service:
                    if (fold := restored(self._stage.state, event)) is not None:
                        self._folds.restored(event.scope, fold)
                case _:
                    pass

    def _replay(self, stored: Stored, message: Message) -> None:
        """Fold a message that was decided on before."""
        key = fold_key(self._stage, message)
        if key is None:
            return
        step = Step(stored.sequence, stored.time, message)
        result = advance(self._stage, key, self._folds.get(key), [step])
        if result.error is not None:
            self._metrics.failures.labels(self._stage.service, "replay").inc()
            self._log.error("not replayed", sequence=stored.sequence, exc_info=result.error)
        elif result.fold is not None:
            self._folds.replayed(key, noted_as_said(result.fold))
            drop_if_over(self._stage, self._folds, key)

    def resume(self, minded: Minded) -> None:
        """Take up again what all folds wait for and want done."""
        for key in tuple(self._folds.states):
            drop_if_over(self._stage, self._folds, key)
            fold = self._folds.get(key)
            if fold is None:
                continue
            with guarded() as outcome:
                minded(key, wants_of(self._stage, fold), fold.job)
            if outcome.error is not None:
                self._metrics.failures.labels(self._stage.service, "resume").inc()
                self._log.error("not resumed", key=key, exc_info=outcome.error)
