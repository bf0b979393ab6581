"""What every store promises, run on memory, NATS and Redis."""

import asyncio

import pytest
from nats.js.kv import KeyValue

from keepstep.adapters.store_nats import AT_ONCE, NatsStore
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Conflict
from keepstep.ports.store import Store
from keepstep.runtime import names
from keepstep.runtime.client import Client

ODD_KEYS = ("job-1", "ip-10-0-0-1.ec2.internal", "a b", "*", ">", "ü_x", "fold/with:all", "_", "k")


async def test_a_key_that_is_not_there_is_none(store: Store) -> None:
    assert await store.load("nothing") is None


@pytest.mark.parametrize("key", ODD_KEYS)
async def test_any_text_is_a_key(store: Store, key: str) -> None:
    revision = await store.save(key, b"\x00value", revision=None)
    held = await store.load(key)
    assert held is not None
    assert (held.value, held.revision) == (b"\x00value", revision)
    assert await store.keys() == (key,)


async def test_an_empty_value_is_a_value(store: Store) -> None:
    await store.save("k", b"", revision=None)
    held = await store.load("k")
    assert held is not None
    assert held.value == b""


async def test_the_right_revision_writes_and_grows(store: Store) -> None:
    first = await store.save("k", b"1", revision=None)
    second = await store.save("k", b"2", revision=first)
    assert second > first
    held = await store.load("k")
    assert held is not None
    assert held.value == b"2"


async def test_a_stale_revision_is_a_conflict_and_changes_nothing(store: Store) -> None:
    first = await store.save("k", b"1", revision=None)
    second = await store.save("k", b"2", revision=first)
    with pytest.raises(Conflict):
        await store.save("k", b"stale", revision=first)
    with pytest.raises(Conflict):
        await store.save("k", b"new", revision=None)
    held = await store.load("k")
    assert held is not None
    assert (held.value, held.revision) == (b"2", second)


async def test_a_missing_key_conflicts_with_a_revision(store: Store) -> None:
    with pytest.raises(Conflict):
        await store.save("k", b"1", revision=7)
    assert await store.load("k") is None


async def test_revisions_grow_over_delete_and_create(store: Store) -> None:
    first = await store.save("k", b"1", revision=None)
    await store.delete("k")
    assert await store.load("k") is None
    assert await store.keys() == ()
    again = await store.save("k", b"2", revision=None)
    assert again > first
    with pytest.raises(Conflict):
        await store.save("k", b"stale", revision=first)


async def test_delete_compares_too(store: Store) -> None:
    await store.delete("absent")
    await store.delete("absent", revision=3)
    first = await store.save("k", b"1", revision=None)
    second = await store.save("k", b"2", revision=first)
    with pytest.raises(Conflict):
        await store.delete("k", revision=first)
    await store.delete("k", revision=second)
    assert await store.load("k") is None


async def test_keys_are_listed_by_prefix_in_order(store: Store) -> None:
    for key in ("b", "fold/2", "fold/1", "fold*3", "f?ld/4"):
        await store.save(key, b"", revision=None)
    assert await store.keys("fold/") == ("fold/1", "fold/2")
    assert await store.keys("fold*") == ("fold*3",)
    assert await store.keys() == ("b", "f?ld/4", "fold*3", "fold/1", "fold/2")


async def test_of_many_writers_one_wins(store: Store) -> None:
    first = await store.save("k", b"0", revision=None)
    writes = [store.save("k", str(n).encode(), revision=first) for n in range(8)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 7


async def test_a_key_that_somebody_else_put_into_the_bucket_is_passed_over(client: Client, pool: Pool) -> None:
    """A service that could not list its folds never became active again."""
    room = names.folds_room(pool, Service.DETECTOR)
    store = NatsStore(client.js, room)
    await store.save("mine", b"1", revision=None)
    for foreign in ("x", "k_zz", "kh_f"):
        await client.js.publish(f"$KV.{room}.{foreign}", b"?")
    assert await store.keys() == ("mine",)


async def test_a_storm_of_folds_waits_its_turn(store: Store) -> None:
    keys = [f"job-{number:03}" for number in range(400)]
    await asyncio.gather(*(store.save(key, b"x" * 1000, revision=None) for key in keys))
    assert await store.keys() == tuple(keys)


async def test_of_a_storm_no_more_are_on_their_way_than_a_slow_disk_answers_in_time(
    client: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk of 5 ms a write the last of 400 timed out, were tried again, and made the others late."""
    store, under_way, most = NatsStore(client.js, names.folds_room(pool, Service.DETECTOR)), 0, 0
    create = KeyValue.create

    async def slow(self: KeyValue, key: str, value: bytes) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            return await create(self, key, value)
        finally:
            under_way -= 1

    monkeypatch.setattr(KeyValue, "create", slow)
    await asyncio.gather(*(store.save(f"job-{number}", b"x", revision=None) for number in range(3 * AT_ONCE)))
    assert most == AT_ONCE
