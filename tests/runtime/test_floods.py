"""Thousands of messages at once: what is asked of bus and store stays within what they answer, and all have a turn."""

import asyncio
from dataclasses import replace

import pytest

from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.ports.store import Versioned
from keepstep.runtime import client as saying
from keepstep.runtime import folds as folding
from keepstep.runtime.app import Context
from keepstep.runtime.batch import MOST
from keepstep.runtime.bus import GIVE_WAY
from keepstep.runtime.client import Client
from keepstep.runtime.fold import Fold
from keepstep.runtime.folds import Folds
from keepstep.runtime.stage import Stage
from tests.runtime.conftest import Running
from tests.runtime.stages import Count, Probe, report, until

MANY = 1000


class Busy:
    """Counts how many are at something at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def __aenter__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)

    async def __aexit__(self, *_: object) -> None:
        self.now -= 1


class SlowStore(MemoryStore):
    """Takes a moment for each."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = Busy()

    async def load(self, key: str) -> Versioned | None:
        async with self.busy:
            return await super().load(key)

    async def save(self, key: str, value: bytes, *, revision: int | None) -> int:
        async with self.busy:
            return await super().save(key, value, revision=revision)


async def test_of_thousands_of_messages_said_at_once_a_few_are_on_their_way(
    client: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, publish = Busy(), Client.publish

    async def counted(self: Client, message: Message) -> None:
        async with busy:
            await publish(self, message)

    monkeypatch.setattr(Client, "publish", counted)
    await asyncio.gather(*(client.say(report(pool, f"m{at}")) for at in range(MANY)))
    assert busy.most == saying.SIDE_BY_SIDE
    assert len([one async for one in client.read()]) == MANY


async def test_of_thousands_of_folds_a_few_are_written_read_and_restored_at_once() -> None:
    store = SlowStore()
    first = Folds(store, Count, fence=1, stream="s")
    await first.load()
    await asyncio.gather(*(first.save(f"k{at}", Fold(Count(), at)) for at in range(1, MANY)))
    assert store.busy.most == folding.SIDE_BY_SIDE
    store.busy.most = 0
    second = Folds(store, Count, fence=2, stream="s")
    await second.load()
    assert len(second.states) == MANY - 1
    assert store.busy.most == folding.SIDE_BY_SIDE, "side by side, since one after the other takes half a minute"
    for at in range(1, MANY):
        second.replayed(f"k{at}", Fold(Count(), at + MANY))
    store.busy.most = 0
    await second.mark(2 * MANY)
    assert store.busy.most == folding.SIDE_BY_SIDE
    third = Folds(store, Count, fence=3, stream="s")
    await third.load()
    held = [third.get(key) for key in third.states]
    assert {fold.applied for fold in held if fold} == set(range(MANY + 1, 2 * MANY))


async def test_a_service_that_has_thousands_to_read_gives_way_every_few(
    client: Client, pool: Pool, start: Running
) -> None:
    await client.provision()
    await client.say_together([report(pool, f"m{at}", job=f"j{at}") for at in range(MOST)])
    probe, turns, turn, going = Probe(every=MANY), list[int](), 0, True

    async def watch() -> None:
        nonlocal turn
        while going:
            await asyncio.sleep(0)
            turn += 1

    def key_of(message: Message) -> str:
        turns.append(turn)
        return message.key

    app = probe.app()

    def stage(context: Context[Count]) -> Stage[Count]:
        return replace(app.stage(context), fold_key=key_of)

    watching = asyncio.create_task(watch())
    async with start(replace(app, stage=stage)):
        await until(lambda: len(probe.states) == MOST)
    going = False
    await watching
    assert max(turns.count(one) for one in set(turns)) <= GIVE_WAY
