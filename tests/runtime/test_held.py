"""Steps under a lease: none is begun that the lease may not cover any more, and nothing else changes."""

import asyncio
from dataclasses import dataclass, field

import pytest

from keepstep.ports.errors import Fenced
from keepstep.runtime.held import stepwise


@dataclass
class Work:
    """Three steps with a look at the clock between them, and what was done."""

    held: bool = True
    lost_after: int = 99
    done: list[str] = field(default_factory=list)
    turn: asyncio.Event = field(default_factory=asyncio.Event)

    async def steps(self) -> str:
        try:
            for number in range(1, 4):
                self.done.append(f"step {number}")
                self.held = number < self.lost_after
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            self.done.append("cleaned up")
        return "done"

    async def waits(self) -> None:
        try:
            await self.turn.wait()
        except asyncio.CancelledError:
            self.done.append("cancelled")
            raise

    async def deaf(self) -> str:
        """Take a cancellation for an answer, as no work should."""
        try:
            self.held = False
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.done.append("deaf")
        return "done"


async def test_work_under_a_lease_that_lasts_is_done() -> None:
    work = Work()
    assert await stepwise(work.steps(), lambda: work.held) == "done"
    assert work.done == ["step 1", "step 2", "step 3", "cleaned up"]


@pytest.mark.parametrize("lost_after", [1, 2])
async def test_no_step_is_made_once_the_lease_may_be_lost(lost_after: int) -> None:
    work = Work(lost_after=lost_after)
    with pytest.raises(Fenced):
        await stepwise(work.steps(), lambda: work.held)
    assert work.done == [*(f"step {number}" for number in range(1, lost_after + 1)), "cleaned up"]


async def test_without_a_lease_nothing_is_begun() -> None:
    work = Work(held=False)
    with pytest.raises(Fenced):
        await stepwise(work.steps(), lambda: work.held)
    assert work.done == []


async def test_what_work_makes_of_its_loss_is_not_its_result() -> None:
    work = Work()
    with pytest.raises(Fenced):
        await stepwise(work.deaf(), lambda: work.held)
    assert work.done == ["deaf"]


async def test_a_cancellation_reaches_the_work() -> None:
    work = Work()

    async def under_lease() -> None:
        await stepwise(work.waits(), lambda: work.held)

    task = asyncio.create_task(under_lease())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.done == ["cancelled"]


async def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    with pytest.raises(KeyError):
        await stepwise(fails(), lambda: True)
