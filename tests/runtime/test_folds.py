"""The folds of an active instance and a store that forgets, rolls back or was written by somebody else."""

import pytest

from keepstep.adapters.store_memory import MemoryStore
from keepstep.ports.errors import Conflict, Fenced
from keepstep.ports.store import Versioned
from keepstep.runtime.fold import Fold
from keepstep.runtime.folds import Folds
from tests.runtime.stages import Count


def folds(store: MemoryStore, *, fence: int, stream: str = "s") -> Folds[Count]:
    return Folds(store, Count, fence=fence, stream=stream)


def fold(applied: int) -> Fold[Count]:
    return Fold(Count(seen=tuple(map(str, range(applied)))), applied)


async def active(store: MemoryStore, *, fence: int = 1) -> Folds[Count]:
    started = folds(store, fence=fence)
    await started.load()
    return started


async def test_what_was_saved_is_loaded_by_the_next() -> None:
    store = MemoryStore()
    first = await active(store)
    await first.save("a", fold(3))
    await first.mark(3)
    second = folds(store, fence=2)
    assert await second.load() == 4, "the stream is replayed after the mark"
    assert second.states == {"a": fold(3).state}


async def emptied() -> tuple[MemoryStore, Folds[Count]]:
    """Return a store that lost all that it was given, and the folds that it was given, "a" and "b"."""
    store = MemoryStore()
    mine = await active(store)
    await mine.save("a", fold(1))
    await mine.save("b", fold(2))
    for key in await store.keys():
        await store.delete(key)
    return store, mine


async def test_one_write_that_finds_the_store_empty_restores_all() -> None:
    store, mine = await emptied()
    await mine.save("a", fold(3))
    again = folds(store, fence=2)
    assert await again.load() == 1, "without its mark the store is not believed to be whole"
    assert again.states == {"a": fold(3).state, "b": fold(2).state}


async def test_a_fold_that_is_dropped_while_a_lost_store_is_restored_is_not_written_again() -> None:
    store, mine = await emptied()
    real = store.load

    async def dropping(key: str) -> Versioned | None:
        if key == "fold/b":
            mine.drop("b")
        return await real(key)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "load", dropping)
        await mine.save("a", fold(3))
    assert await store.keys() == ("fold/a",)


async def test_a_store_that_rolled_back_is_brought_forward() -> None:
    store = MemoryStore()
    mine = await active(store)
    await mine.save("a", fold(1))
    old = await store.load("fold/a")
    assert old is not None
    newest = await mine_revision(mine, store)
    await store.save("fold/a", old.value, revision=newest)
    await mine.save("a", fold(3))
    assert (await active(store, fence=2)).states == {"a": fold(3).state}


async def mine_revision(mine: Folds[Count], store: MemoryStore) -> int:
    await mine.save("a", fold(2))
    held = await store.load("fold/a")
    assert held is not None
    return held.revision


async def test_a_successor_fences_its_predecessor_off() -> None:
    store = MemoryStore()
    old, new = await active(store, fence=1), await active(store, fence=2)
    await new.save("a", fold(1))
    with pytest.raises(Fenced):
        await old.save("a", fold(1))
    await new.mark(1)
    with pytest.raises(Fenced):
        await old.mark(1)
    with pytest.raises(Fenced):
        await active(store, fence=1)


async def test_what_a_predecessor_wrote_last_is_gone_on_from() -> None:
    store = MemoryStore()
    old = await active(store, fence=1)
    await old.save("a", fold(1))
    new = await active(store, fence=2)
    await old.save("a", fold(2))
    with pytest.raises(Conflict):
        await new.save("a", fold(2))
    assert new.states == {"a": fold(2).state}
    await new.save("a", fold(3))


async def test_a_write_whose_answer_was_lost_is_recognised() -> None:
    store = MemoryStore()
    mine = await active(store)
    await mine.save("a", fold(1))
    real = store.save

    async def unanswered(key: str, value: bytes, *, revision: int | None) -> int:
        await real(key, value, revision=revision)
        raise Conflict("the second try finds the first")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "save", unanswered)
        await mine.save("a", fold(2))
    await mine.save("a", fold(3))


async def test_a_fold_that_cannot_be_read_is_replayed_from_the_beginning() -> None:
    store = MemoryStore()
    mine = await active(store)
    await mine.save("a", fold(1))
    await mine.mark(1)
    held = await store.load("fold/a")
    assert held is not None
    await store.save("fold/a", held.value.replace(rb"[\"0\"]", b"17"), revision=held.revision)
    again = folds(store, fence=2)
    assert await again.load() == 1
    assert again.states == {}
    again.replayed("a", fold(1))
    await again.mark(1)
    assert (await active(store, fence=3)).states == {"a": fold(1).state}


async def test_a_fold_that_is_over_leaves_memory_at_once_and_the_store_with_the_next_mark() -> None:
    store = MemoryStore()
    mine = await active(store)
    await mine.save("a", fold(1))
    await mine.save("b", fold(2))
    mine.drop("a")
    assert set(mine.states) == {"b"}
    await mine.mark(2)
    assert await store.keys("fold/") == ("fold/b",)
    await mine.save("a", fold(3))
    assert set((await active(store, fence=2)).states) == {"a", "b"}


async def test_a_key_that_is_used_again_before_the_mark_stays_in_the_store() -> None:
    store = MemoryStore()
    mine = await active(store)
    await mine.save("a", fold(1))
    mine.drop("a")
    await mine.save("a", fold(3))
    await mine.mark(3)
    assert (await active(store, fence=2)).states == {"a": fold(3).state}


@pytest.mark.parametrize("garbage", [b"", b"{no json", b"[]", b'{"fence": "x"}'])
@pytest.mark.parametrize("name", ["fold/a", "mark"])
async def test_what_somebody_garbled_in_the_store_is_written_anew(name: str, garbage: bytes) -> None:
    """A service that could not read its own store never became active again."""
    store = MemoryStore()
    mine = await active(store)
    await mine.save("a", fold(1))
    await mine.mark(1)
    held = await store.load(name)
    assert held is not None
    await store.save(name, garbage, revision=held.revision)
    await mine.save("a", fold(2))
    await mine.mark(2)
    again = folds(store, fence=2)
    assert await again.load() == 3
    assert again.states == {"a": fold(2).state}


@pytest.mark.parametrize("name", ["fold/a", "mark"])
async def test_what_was_garbled_while_nobody_was_active_is_replayed(name: str) -> None:
    store = MemoryStore()
    mine = await active(store)
    await mine.save("a", fold(1))
    await mine.mark(1)
    held = await store.load(name)
    assert held is not None
    await store.save(name, b"\xff", revision=held.revision)
    again = folds(store, fence=2)
    assert await again.load() == 1, "the stream is replayed from its beginning"
    again.replayed("a", fold(1))
    await again.mark(1)
    assert await folds(store, fence=3).load() == 2
