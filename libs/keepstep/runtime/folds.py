"""The folds of one service: in memory for reading, in the store for a successor, each write compared and set.

The active instance is the only writer, so its memory is never behind the store. What the store turns out to have lost
(a FLUSHALL, a last second) is written again from memory; what it lost while nobody was active is replayed from the
stream, which is why ``mark`` remembers up to where the store is known to be whole.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, TypeVar

from keepstep.contracts.model import Frozen
from keepstep.ports.errors import Conflict, Fenced
from keepstep.ports.store import Store, Versioned
from keepstep.runtime.fold import Fold, Record, parsed, read_fold, written
from keepstep.runtime.spelling import Spelling
from keepstep.runtime.tasks import side_by_side

S = TypeVar("S", bound=Frozen)

SIDE_BY_SIDE = 64
"""Reads and writes of one service at once: as many as a store answers within its time. Of the thousands that a flood of
reports asked for it answered none in time, and each was asked for again."""
_FOLD = "fold/"
_MARK = "mark"


class Mark(Frozen):
    """Up to ``applied``, the store holds what the stream of this identity led to."""

    fence: int
    applied: int
    stream: str


class Folds(Generic[S]):
    """All folds of one service while it is active under one fencing number."""

    def __init__(self, store: Store, state: type[S], *, fence: int, stream: str) -> None:
        self._store = store
        self._model = state
        self._fence = fence
        self._stream = stream
        self._folds: dict[str, Fold[S]] = {}
        self._states: dict[str, S] = {}
        self._spellings: defaultdict[str, Spelling] = defaultdict(Spelling)
        self._revisions: dict[str, int | None] = {}
        self._unwritten: set[str] = set()
        self._dropped: set[str] = set()
        self._applied = 0
        self._turns = {of_job: asyncio.Semaphore(SIDE_BY_SIDE) for of_job in (True, False)}
        """A job's fold does not wait for those of a flood about nodes."""

    @property
    def states(self) -> Mapping[str, S]:
        """Return a live, read-only view of all states by key."""
        return MappingProxyType(self._states)

    def get(self, key: str) -> Fold[S] | None:
        """Return the fold of a key, or None."""
        return self._folds.get(key)

    def put(self, key: str, fold: Fold[S]) -> None:
        """Take a fold into memory only, as to note that its outbox was said."""
        self._folds[key] = fold
        self._states[key] = fold.state

    def replayed(self, key: str, fold: Fold[S]) -> None:
        """Take a fold that was replayed from the stream; the next mark writes it."""
        self.put(key, fold)
        self._unwritten.add(key)

    def restored(self, key: str, fold: Fold[S]) -> None:
        """Take a fold out of its restatement unless a newer one is known."""
        known = self._folds.get(key)
        if known is None or known.applied < fold.applied:
            self.replayed(key, fold)

    def drop(self, key: str) -> None:
        """Forget a fold that is over; the next mark takes it out of the store, until when a successor drops it too."""
        self._folds.pop(key, None)
        self._states.pop(key, None)
        self._spellings.pop(key, None)
        self._unwritten.discard(key)
        self._dropped.add(key)

    async def load(self, *, end: Callable[[], Awaitable[int]] | None = None) -> int:
        """Read everything and return the sequence from which the stream has to be replayed.

        A store of another stream is emptied, and so is one that is ahead of its stream: ``end`` asks for that's last
        sequence, which an older copy of the bus's data brings back, and what it numbers anew was never applied. What
        this version cannot read, be it the mark, is left out and replayed from the stream's beginning. Raises Fenced
        if a successor has written, Transient while the store is away.
        """
        mark = await self._store.load(_MARK)
        found = await self._held(await self._store.keys(_FOLD))
        if await self._is_anothers(mark, found, end):
            for name in await self._store.keys():
                await self._store.delete(name)
            return 1
        first = self._load_mark(mark) + 1
        for name, held in found.items():
            self._revisions[name] = held.revision
            fold = read_fold(self._model, held.value, fence=self._fence)
            if fold is None:
                first = 1
            else:
                self.put(name.removeprefix(_FOLD), fold)
        return first

    async def _held(self, names: Sequence[str]) -> dict[str, Versioned]:
        """Return what the store holds of these; one after the other, hundreds took half a minute of a busy loop."""
        loaded = await side_by_side(self._store.load, names, most=SIDE_BY_SIDE)
        return {name: held for name, held in zip(names, loaded, strict=True) if held is not None}

    async def save(self, key: str, fold: Fold[S]) -> None:
        """Write the fold, then take it into memory. Raises Fenced, Conflict (decide again), or Transient."""
        body = written(fold, fence=self._fence, spelling=self._spellings[key])
        async with self._turns[fold.job is not None]:
            await self._write(_FOLD + key, body, key=key)
        self.put(key, fold)
        self._unwritten.discard(key)
        self._dropped.discard(key)

    async def mark(self, applied: int) -> None:
        """Note that the store holds everything up to this sequence, restoring first what it lost."""

        async def write(key: str) -> None:
            if key in self._unwritten:
                await self.save(key, self._folds[key])

        unwritten = sorted(self._unwritten)
        await side_by_side(write, unwritten[:1], most=1)  # alone: where all is lost, it is this one that finds out
        await side_by_side(write, unwritten[1:], most=SIDE_BY_SIDE)
        await self._delete_dropped()
        if applied <= self._applied and _MARK in self._revisions:
            return  # nothing was delivered since the last mark, or since this instance became active
        mark = Mark(fence=self._fence, applied=applied, stream=self._stream)
        body = mark.model_dump_json().encode()
        try:
            self._revisions[_MARK] = await self._store.save(_MARK, body, revision=self._revisions.get(_MARK))
        except Conflict:
            held = await self._store.load(_MARK)
            other = None if held is None or held.value == body else parsed(Mark, held.value)
            if other is not None and other.fence > self._fence:
                raise Fenced("a successor marked the store") from None
            await self._restore(but="")
            found = None if held is None else held.revision
            self._revisions[_MARK] = await self._store.save(_MARK, body, revision=found)
        self._applied = applied

    async def _delete_dropped(self) -> None:
        for key in sorted(self._dropped):
            if key not in self._folds:
                await self._store.delete(_FOLD + key, revision=self._revisions.pop(_FOLD + key, None))
            self._dropped.discard(key)

    async def _is_anothers(
        self, held: Versioned | None, found: Mapping[str, Versioned], end: Callable[[], Awaitable[int]] | None
    ) -> bool:
        """Tell whether the store was written by another stream, or by what this one was before it was put back."""
        mark = None if held is None else parsed(Mark, held.value)
        if mark is not None and mark.stream != self._stream:
            return True
        if end is None:
            return False
        records = [parsed(Record, each.value) for each in found.values()]
        applied = [each.applied for each in (mark, *records) if each is not None]
        return max(applied, default=0) > await end()

    def _load_mark(self, held: Versioned | None) -> int:
        if held is None:
            return 0
        self._revisions[_MARK] = held.revision
        mark = parsed(Mark, held.value)
        if mark is None:
            return 0
        if mark.fence > self._fence:
            raise Fenced(f"the store was marked under lease {mark.fence}, this is {self._fence}")
        self._applied = mark.applied
        return mark.applied

    async def _write(self, name: str, body: bytes, *, key: str) -> None:
        try:
            self._revisions[name] = await self._store.save(name, body, revision=self._revisions.get(name))
        except Conflict:
            self._revisions[name] = await self._settle(name, body, key=key)
            await self._restore(but=name)

    async def _settle(self, name: str, body: bytes, *, key: str) -> int:
        """Find out why a write lost and write again where the store, not this instance, is behind."""
        held = await self._store.load(name)
        if held is None:
            return await self._store.save(name, body, revision=None)
        if held.value == body:
            return held.revision
        record, known = parsed(Record, held.value), self._folds.get(key)
        if record is None:
            return await self._store.save(name, body, revision=held.revision)
        if record.fence > self._fence:
            raise Fenced(f"{name} was written under lease {record.fence}, this is {self._fence}")
        if record.applied > (0 if known is None else known.applied):
            return await self._adopt(name, held, key=key)
        return await self._store.save(name, body, revision=held.revision)

    async def _adopt(self, name: str, held: Versioned, *, key: str) -> int:
        """Take what a predecessor wrote after it was loaded, and let the caller decide again from there."""
        self._revisions[name] = held.revision
        fold = read_fold(self._model, held.value, fence=self._fence)
        if fold is not None:
            self.put(key, fold)
        raise Conflict(f"{name} was advanced by a predecessor")

    async def _restore(self, *, but: str) -> None:
        """Write again every fold that the store lost or holds older than memory does."""
        for key in tuple(self._folds):
            name = _FOLD + key
            held = None if name == but else await self._store.load(name)
            fold = self._folds.get(key)  # of now: others were decided on, or dropped, while this was asked for
            if fold is None or name == but or (held is not None and held.revision == self._revisions.get(name)):
                continue
            record = None if held is None else parsed(Record, held.value)
            if record is None or record.applied < fold.applied:
                found = None if held is None else held.revision
                self._revisions[name] = await self._store.save(name, written(fold, fence=self._fence), revision=found)
