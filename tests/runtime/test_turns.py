"""A storm of decisions on one loop: a stage that watches something on it as well has a turn between any two of them."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.message import Message, cloud_headers
from keepstep.contracts.subjects import subject_of
from keepstep.core.decision import Decision
from keepstep.runtime import log
from keepstep.runtime.app import Context
from keepstep.runtime.folds import Folds
from keepstep.runtime.lanes import Lanes, Ways
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.tail import Stored
from tests.pipeline.loop import LoopClock, simulate
from tests.runtime.conftest import BRISK
from tests.runtime.stages import NOON, Count, Probe, report
from tests.runtime.test_cut_points import POOL, Slip, World, never_bury

JOBS = 20


async def turns_of_decisions(*, one_a_turn: bool) -> list[int]:
    """Deliver one message of each of many keys at once; return the loop's turn in which each was decided on."""
    probe, world, turn, decided = Probe(), World([]), 0, list[int]()
    folds = Folds(MemoryStore(), Count, fence=1, stream="s")
    stage = probe.app().stage(Context(POOL, LoopClock(), None, None, world.say, lambda: folds.states, None))  # type: ignore[arg-type]  # a probe asks for its folds and say alone

    def decide(count: Count | None, message: Message, now: datetime) -> Decision[Count]:
        decided.append(turn)
        return probe.decide(count, message, now)

    async def watch() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    lanes = Lanes(
        replace(stage, decide=decide, one_a_turn=one_a_turn),
        folds,
        Ways(say=world.say, bury=never_bury, minded=lambda *_: None, ended=lambda _: None),
        pace=BRISK,
        clock=LoopClock(),
        metrics=Metrics(),
        log=log.logger("test"),
    )
    watching = asyncio.create_task(watch())
    for sequence in range(1, JOBS + 1):
        message = report(POOL, f"m{sequence}", job=f"job-{sequence}")
        stored = Stored(sequence, NOON, subject_of(message), cloud_headers(message), message.model_dump_json().encode())
        world.unanswered[sequence] = stored
        await lanes.take(stored, Slip(world, sequence))
    while len(decided) < JOBS:  # noqa: ASYNC110 - turns are what is counted
        await asyncio.sleep(0)
    watching.cancel()
    return decided


@pytest.mark.parametrize(("one_a_turn", "different"), [(True, JOBS), (False, 1)])
def test_a_stage_that_asks_for_it_decides_once_a_turn(*, one_a_turn: bool, different: int) -> None:
    assert len(set(simulate(turns_of_decisions(one_a_turn=one_a_turn)))) == different
