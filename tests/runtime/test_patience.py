"""A stage that no recovery waits for gathers what comes at about the same time and writes it once."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from keepstep.adapters.store_memory import MemoryStore
from keepstep.runtime.folds import Folds
from tests.pipeline.loop import LoopClock, simulate
from tests.runtime.stages import Count, Probe, report
from tests.runtime.world import POOL, Slip, World, lanes_of

PATIENCE = timedelta(seconds=0.05)


@dataclass
class Kept(MemoryStore):
    """A store that counts what is written."""

    writes: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    async def save(self, key: str, value: bytes, *, revision: int | None) -> int:
        self.writes += 1
        return await super().save(key, value, revision=revision)


async def at(*moments: float, patience: timedelta) -> tuple[Kept, list[str], list[str]]:
    """Deliver a message at each moment (seconds); return the store, what was decided on, and what was left."""
    store, probe, world = Kept(), Probe(), World([])
    folds = Folds(store, Count, fence=1, stream="s")
    lanes = lanes_of(world, probe, folds, LoopClock(), patience=patience)
    for sequence, moment in enumerate(moments, 1):
        await asyncio.sleep(moment - asyncio.get_running_loop().time())
        stored = world.put(sequence, report(POOL, f"m{sequence}"))
        await lanes.take(stored, Slip(world, sequence))
    await asyncio.sleep(1)
    return store, probe.decided, list(map(str, world.unanswered))


def test_what_comes_within_the_patience_is_written_once() -> None:
    store, decided, left = simulate(at(0.0, 0.02, 0.04, 0.2, 0.24, patience=PATIENCE))
    assert decided == ["m1", "m2", "m3", "m4", "m5"]
    assert left == []
    assert store.writes == 2


def test_a_stage_without_patience_writes_at_once() -> None:
    store, decided, _ = simulate(at(0.0, 0.02, 0.04, patience=timedelta(0)))
    assert decided == ["m1", "m2", "m3"]
    assert store.writes == 3
