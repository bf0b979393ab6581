"""A crash at every step of writing, saying and acknowledging, twice: the same fold, every word once."""

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.ids import consequence_id
from keepstep.runtime.folds import Folds
from tests.runtime.stages import Count, Probe, report, until
from tests.runtime.world import POOL, Slip, World, lanes_of

NAMES = ("a", "b", "c", "d", "e")


async def live(world: World, probe: Probe, *, fence: int) -> Count | None:
    """Be one instance from its start to its crash, or until everything is acknowledged; return the fold.

    Each instance gets more at once than the one before, so that what was decided and what is new meet in one run.
    """
    world.crashed = False
    failures: list[Exception] = []
    folds = Folds(world, Count, fence=fence, stream="s")
    await folds.load()
    lanes = lanes_of(world, probe, folds, SystemClock(), ended=failures.append)
    waiting, size = sorted(world.unanswered), 1 + fence
    while waiting and not world.crashed:
        portion, waiting = waiting[:size], waiting[size:]
        for sequence in portion:
            await lanes.take(world.unanswered[sequence], Slip(world, sequence))
        await until(lambda portion=portion: world.crashed or not world.unanswered.keys() & set(portion))  # type: ignore[misc]  # mypy infers no type for a lambda with a default
    lanes.close()
    assert failures == []
    fold = folds.get("job-1")
    return None if fold is None else fold.state


async def outcome(*crashes: int) -> tuple[World, Count | None]:
    """Return the world after the messages were taken by as many instances as it takes."""
    world, probe = World(list(crashes)), Probe()
    for sequence, name in enumerate(NAMES, 1):
        world.put(sequence, report(POOL, name))
    fence, state = 0, None
    while world.unanswered:
        fence += 1
        state = await live(world, probe, fence=fence)
    return world, state


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_no_crash_loses_or_repeats_anything() -> None:
    calm, state = await outcome()
    assert calm.said == [consequence_id("FaultCleared", name) for name in NAMES]  # type: ignore[arg-type]  # a name stands for the id of its message
    assert state == Count(seen=NAMES)
    assert calm.steps == 26, "3 writes, 5 words and 5 acknowledgements have 26 sides to crash at"
    for first in range(1, calm.steps + 1):
        for second in range(1, calm.steps - first + 3, 3):
            stormy, state = await outcome(first, second)
            assert (stormy.said, state) == (calm.said, Count(seen=NAMES)), (first, second)
