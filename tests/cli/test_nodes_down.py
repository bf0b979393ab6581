"""A second signal ends what runs at once, however long its tasks may take to end in order."""

import asyncio
import signal
import threading

import pytest

from keepstep.cli.errors import Interrupted
from keepstep.cli.nodes_down import nodes_down
from keepstep.cli.signals import Interruptions


class SlowNodes:
    """Nodes that stop in order after a minute, and at once when they are lost."""

    def __init__(self) -> None:
        self.gone, self.calls = threading.Event(), list[str]()

    def stop_all(self) -> None:
        self.calls.append("stop")
        assert self.gone.wait(60)

    def lose_all(self) -> None:
        self.calls.append("lose")
        self.gone.set()


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_second_signal_does_not_wait_for_the_grace(when: str) -> None:
    """With a grace of ten minutes for its checkpoint, a job that was interrupted twice went on for ten minutes."""
    nodes, interruptions = SlowNodes(), Interruptions()
    interruptions.first.set()
    if when == "before":
        interruptions.second.set()
    else:
        asyncio.get_running_loop().call_later(0.05, interruptions.second.set)
    await asyncio.wait_for(nodes_down(nodes, interruptions), 10)
    assert nodes.calls == ["stop", "lose"]


async def test_one_signal_lets_the_tasks_have_their_grace() -> None:
    nodes, interruptions = SlowNodes(), Interruptions()
    interruptions.first.set()
    asyncio.get_running_loop().call_later(0.05, nodes.gone.set)
    await asyncio.wait_for(nodes_down(nodes, interruptions), 10)
    assert nodes.calls == ["stop"]


async def test_a_signal_ends_what_waits_before_the_job() -> None:
    """Nodes that did not come up were waited for half a minute, whatever signals came."""
    interruptions, never = Interruptions(), asyncio.Event()
    interruptions.listen()
    asyncio.get_running_loop().call_later(0.05, signal.raise_signal, signal.SIGTERM)
    with pytest.raises(Interrupted, match="SIGTERM: stopped while it was still coming up") as caught:
        async with asyncio.timeout(10), interruptions.may_end():
            await never.wait()
    assert caught.value.exit_code == 128 + signal.SIGTERM


async def test_another_cancellation_is_no_signal() -> None:
    interruptions, never = Interruptions(), asyncio.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), interruptions.may_end():
            await never.wait()
    async with interruptions.may_end():
        pass
    interruptions.first.set()
    await asyncio.sleep(0)
