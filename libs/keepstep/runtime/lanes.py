"""One lane per key: its messages in order, each run folded in one compare-and-set, said, then acknowledged.

While a message of a key cannot be taken it is refused with a delay, and the later ones of its key wait behind it; the
bus delivers it again, and that delivery is the next try. Nothing leaves a lane unless it is in the fold or buried.
"""

import asyncio
from collections import deque
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice, takewhile
from typing import Generic, TypeVar, assert_never

from structlog.typing import FilteringBoundLogger

from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Fenced, KeepstepError, Permanent, Transient
from keepstep.runtime.advance import Advance, Step, advance, drop_if_over, fold_key, hears_of
from keepstep.runtime.arrival import Arrival, Receipt
from keepstep.runtime.failsafe import guarded
from keepstep.runtime.fold import noted_as_said
from keepstep.runtime.folds import Folds
from keepstep.runtime.intake import Garbled, Heard, Reading, Unfamiliar, Unheard, Unknown, lane_of, name_of, recognise
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.pace import Pace
from keepstep.runtime.stage import Stage
from keepstep.runtime.tail import Stored
from keepstep.runtime.ways import Ways

S = TypeVar("S", bound=Frozen)

RUN = 64
"""Messages folded in one write: a write costs 0.4 ms, and an outbox of this many stays far below a message's limit."""
FEW = 16
"""Lanes of no job that decide and write at once: in a flood about nodes the others gather what comes for one write, and
what comes of jobs is taken and decided on meanwhile."""


class Lanes(Generic[S]):
    """All lanes of one active stage."""

    def __init__(
        self,
        stage: Stage[S],
        folds: Folds[S],
        ways: Ways,
        *,
        pace: Pace,
        clock: Clock,
        metrics: Metrics,
        log: FilteringBoundLogger,
    ) -> None:
        self._stage = stage
        self._folds = folds
        self._ways = ways
        self._pace = pace
        self._clock = clock
        self._metrics = metrics
        self._log = log
        self._queues: dict[str, deque[Arrival]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: dict[int, Arrival] = {}
        self._turns = asyncio.Lock()
        self._few = asyncio.Semaphore(FEW)
        self._newest = 0

    @property
    def floor(self) -> int:
        """Return the sequence up to which everything delivered is answered."""
        return min(self._open) - 1 if self._open else self._newest

    def close(self) -> list[asyncio.Task[None]]:
        """Stop all lanes and return what is still ending; what is unanswered comes again to the successor."""
        for task in self._tasks:
            task.cancel()
        return list(self._tasks)

    async def take(self, stored: Stored, receipt: Receipt) -> None:
        """Put one delivery into its lane; what is not for this stage is acknowledged at once."""
        if (arrival := self._open.get(stored.sequence)) is not None:
            self._metrics.redeliveries.labels(self._stage.service).inc()
            arrival.receipt = receipt
            arrival.again.set()
            return
        self._newest = max(self._newest, stored.sequence)
        reading = recognise(stored, hears_of(self._stage))
        key = self._key(stored, reading)
        if key is None:
            await receipt.ack()
            return
        self._open[stored.sequence] = arrival = Arrival(stored, receipt, reading, self._clock.monotonic())
        if (queue := self._queues.get(key)) is not None:
            queue.append(arrival)
        else:
            self._queues[key] = deque([arrival])
            task = asyncio.create_task(self._run(key), name=f"lane {key}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _key(self, stored: Stored, reading: Reading) -> str | None:
        match reading:
            case Unknown():
                self._metrics.ignored.labels(self._stage.service).inc()
                return None
            case Unheard():
                return None
            case Unfamiliar() | Garbled():
                return lane_of(stored.subject)
            case Heard(message):
                self._metrics.events.labels(self._stage.service, type(message).__name__).inc()
                return fold_key(self._stage, message)
            case _:
                assert_never(reading)

    async def _run(self, key: str) -> None:
        queue = self._queues[key]
        with guarded() as outcome:
            if self._stage.patience:
                await asyncio.sleep(self._stage.patience.total_seconds())
            while queue:
                await self._turn(key, queue)
        if outcome.error is None:
            del self._queues[key]  # no await since the queue was seen empty, so that no arrival is missed
        else:
            self._ways.ended(outcome.error)

    async def _turn(self, key: str, queue: deque[Arrival]) -> None:
        head = queue[0]
        match head.reading:
            case Heard():
                await self._decide(key, queue)
            case Garbled(reason):
                await self._bury(queue, reason)
            case Unfamiliar(reason):
                # Those that waited behind another such word have waited as long: a newer reader is not on its way.
                waited = self._clock.monotonic() - head.at
                if head.tries + 1 >= self._pace.unfamiliar_tries or waited >= self._pace.unfamiliar_s:
                    await self._bury(queue, reason)
                else:
                    await self._refuse(head, Transient(reason), place="read")
            case Unheard() | Unknown():
                raise AssertionError(head.reading)
            case _:
                assert_never(head.reading)

    async def _decide(self, key: str, queue: deque[Arrival]) -> None:
        head = queue[0].reading
        assert isinstance(head, Heard), "only what was heard is decided on"  # noqa: S101 - narrows
        async with nullcontext() if head.message.job is not None else self._few:
            result, error, place = await self._settle(key, queue)
        if error is not None:
            await self._fail(queue, error, place=place)
            return
        await self._publish(key, result)
        await self._answer(queue, result.taken)

    async def _settle(self, key: str, queue: deque[Arrival]) -> tuple[Advance[S], Exception | None, str]:
        """Decide on a run of the queue and write its fold; return what stopped it, and where, if none of it is done."""
        # What was refused is tried alone, so that the blame falls on it and not on those behind it.
        run = islice(queue, 1 if queue[0].tries else RUN)
        heard = takewhile(lambda arrival: isinstance(arrival.reading, Heard), run)
        steps = [_step(arrival) for arrival in heard]
        known = self._folds.get(key)
        if known is not None and steps[0].sequence <= known.applied:
            await self._speak(key)
        if self._stage.one_a_turn:
            async with self._turns:
                await asyncio.sleep(0)  # the others' turn
        result = advance(self._stage, key, known, steps)
        if result.taken == 0:
            assert result.error is not None, "a run stops early only at an error"  # noqa: S101 - narrows
            return result, result.error, "decide"
        try:
            if result.fold is not None:
                await self._folds.save(key, result.fold)
        except Fenced:
            raise
        except KeepstepError as error:
            return replace(result, taken=0), error, "store"
        return result, None, ""

    async def _publish(self, key: str, result: Advance[S]) -> None:
        for message, because in result.because:
            self._log.info("decided", heard=type(message).__name__, because=because, **_about(key, message))
        await self._speak(key)
        if result.fold is not None:
            self._ways.minded(key, result.wants, result.fold.job)
        drop_if_over(self._stage, self._folds, key)  # also one that a predecessor wrote and could not drop

    async def _speak(self, key: str) -> None:
        """Say the fold's outbox unless that is known to be done: a predecessor may have died before it could."""
        fold = self._folds.get(key)
        if fold is not None and not fold.said:
            for message in fold.outbox:
                await self._ways.say(message)
            self._folds.put(key, noted_as_said(fold))

    async def _answer(self, queue: deque[Arrival], count: int) -> None:
        now = self._clock.now()
        for _ in range(count):
            arrival = queue.popleft()
            await arrival.receipt.ack()
            del self._open[arrival.stored.sequence]
            waited = (now - arrival.stored.time).total_seconds()
            self._metrics.decided.labels(self._stage.service).observe(max(0.0, waited))

    async def _fail(self, queue: deque[Arrival], error: Exception, *, place: str) -> None:
        """Answer the head, which could not be decided on or written: bury it once it was tried enough, else refuse it.

        ``decide`` is a function of fold and message: what it raises once it raises again, until another version runs.
        """
        head = queue[0]
        match error:
            case Transient():
                enough = None
            case Permanent():
                enough = self._pace.permanent_tries
            case _:
                enough = self._pace.poison_tries
        if enough is not None and head.tries + 1 >= enough:
            await self._bury(queue, str(error) if isinstance(error, Permanent) else f"a bug: {error!r}")
        else:
            await self._refuse(head, error, place=place)

    async def _refuse(self, head: Arrival, error: Exception, *, place: str) -> None:
        """Refuse the head with a delay and return when it is delivered again."""
        head.tries += 1
        head.again.clear()
        delay = self._pace.retry_s(head.tries)
        self._metrics.failures.labels(self._stage.service, place).inc()
        described = {"heard": name_of(head.stored.subject), "sequence": head.stored.sequence, "tries": head.tries}
        if isinstance(error, Transient):
            self._log.warning("refused for now", place=place, because=str(error), wait_s=delay, **described)
        else:
            self._log.error("failed", place=place, exc_info=error, wait_s=delay, **described)
        await head.receipt.nak(delay)
        await head.again.wait()

    async def _bury(self, queue: deque[Arrival], reason: str) -> None:
        head = queue[0]
        await self._ways.bury(head.stored, reason)
        self._metrics.dead_letters.labels(self._stage.service).inc()
        self._log.error("buried", heard=name_of(head.stored.subject), sequence=head.stored.sequence, because=reason)
        queue.popleft()
        await head.receipt.term()
        del self._open[head.stored.sequence]


def _step(arrival: Arrival) -> Step:
    assert isinstance(arrival.reading, Heard), "only what was heard is decided on"  # noqa: S101 - narrows
    return Step(arrival.stored.sequence, arrival.stored.time, arrival.reading.message)


def _about(key: str, message: Message) -> dict[str, str | None]:
    return {"key": key, "incident": message.incident, "node": message.node, "id": message.id}
