"""A storm of decisions on one loop: a stage that watches something on it as well has a turn between any two of them."""

import asyncio
from datetime import datetime

import pytest

from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.message import Message
from keepstep.core.decision import Decision
from keepstep.runtime.folds import Folds
from tests.pipeline.loop import LoopClock, simulate
from tests.runtime.stages import Count, Probe, report
from tests.runtime.world import POOL, Slip, World, lanes_of

JOBS = 20


async def turns_of_decisions(*, one_a_turn: bool) -> list[int]:
    """Deliver one message of each of many keys at once; return the loop's turn in which each was decided on."""
    probe, world, turn, decided = Probe(), World([]), 0, list[int]()
    folds = Folds(MemoryStore(), Count, fence=1, stream="s")

    def decide(count: Count | None, message: Message, now: datetime) -> Decision[Count]:
        decided.append(turn)
        return probe.decide(count, message, now)

    async def watch() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    lanes = lanes_of(world, probe, folds, LoopClock(), decide=decide, one_a_turn=one_a_turn)
    watching = asyncio.create_task(watch())
    for sequence in range(1, JOBS + 1):
        stored = world.put(sequence, report(POOL, f"m{sequence}", job=f"job-{sequence}"))
        await lanes.take(stored, Slip(world, sequence))
    while len(decided) < JOBS:  # noqa: ASYNC110 - turns are what is counted
        await asyncio.sleep(0)
    watching.cancel()
    return decided


@pytest.mark.parametrize(("one_a_turn", "different"), [(True, JOBS), (False, 1)])
def test_a_stage_that_asks_for_it_decides_once_a_turn(*, one_a_turn: bool, different: int) -> None:
    assert len(set(simulate(turns_of_decisions(one_a_turn=one_a_turn)))) == different
