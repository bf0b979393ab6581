"""The machine stands still for 30 s, and the bus is away for two minutes: no fault is made of it, and none is lost."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keepstep.contracts import events as e
from tests.system.endless import FENCE, spec
from tests.system.stack import Stack

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


@contextmanager
def paused(pids: list[int]) -> Iterator[None]:
    """Let these processes stand still while the block runs."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def test_a_pause_of_the_whole_machine_is_no_fault(stack: Stack) -> None:
    await stack.all_active()
    before, old = set(stack.said), stack.generation()
    steps = {rank: slot.step for rank, slot in stack.slots().items()}
    with paused(stack.everything_but_ranks()):
        await asyncio.sleep(30)
    assert all(slot.step > steps[rank] + 100 for rank, slot in stack.slots().items()), "ranks were paused, too"
    await stack.all_active()
    await heard_again(stack)
    faults = [m for name, m in stack.said.items() if name not in before and isinstance(m, e.FaultDetected)]
    assert faults == [], stack.told()
    with paused(stack.everything_but_ranks()):
        stack.kill_rank(1)
        await asyncio.sleep(12)
    await stack.until(lambda: any(m.generation == old + 1 for m in stack.all(e.IncidentClosed)), "closed after a pause")
    await stack.stepping(old + 1)
    new = [m for name, m in stack.said.items() if name not in before]
    handled = [type(m).__name__ for m in new if isinstance(m, e.FaultDetected | e.RecoveryStarted)]
    assert handled == ["FaultDetected", "RecoveryStarted"], stack.told()


async def heard_again(stack: Stack) -> None:
    """Return after a loss window, in which whatever the detector makes of the pause must come out."""
    window = spec(stack.folder).policy.detection.loss_window
    await asyncio.sleep(window.total_seconds() + 2)


async def test_two_minutes_without_the_bus(stack: Stack) -> None:
    await stack.all_active()
    before, old = set(stack.said), stack.generation()
    await stack.kill_server()
    try:
        await _cut_off_for_long(stack)
    finally:
        await stack.server.start()
    await stack.until(lambda: any(m.generation == old + 1 for m in stack.all(e.IncidentClosed)), "closed after it")
    await stack.stepping(old + 1)
    new = [m for name, m in stack.said.items() if name not in before]
    assert [(m.from_generation, m.to_generation) for m in new if isinstance(m, e.RecoveryStarted)] == [(old, old + 1)]
    assert len([m for m in new if isinstance(m, e.IncidentOpened)]) == 1, stack.told()


async def _cut_off_for_long(stack: Stack) -> None:
    """Freeze a rank, which its agent stops after the fence; kill the one that steps at the end of two minutes."""
    began = asyncio.get_running_loop().time()
    frozen = stack.slots()[1]
    os.kill(frozen.pid, signal.SIGSTOP)
    async with asyncio.timeout(FENCE.total_seconds() + 20):
        while alive(frozen.pid):  # noqa: ASYNC110 - until its agent stops it
            await asyncio.sleep(0.1)
    assert asyncio.get_running_loop().time() - began >= FENCE.total_seconds(), "stopped before its time"
    stepping = stack.slots()[0]
    while asyncio.get_running_loop().time() < began + 110:
        assert alive(stepping.pid), "a rank that steps was stopped"
        await asyncio.sleep(0.5)
    assert stack.slots()[0].step > stepping.step + 500
    os.kill(stepping.pid, signal.SIGKILL)
    await asyncio.sleep(10)


def alive(pid: int) -> bool:
    """Tell whether a process runs, standing still or not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state != "Z"
