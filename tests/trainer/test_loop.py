"""The launcher's loop rests while nothing happens."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepstep.trainer.loop import Loop


@pytest.fixture
def loop() -> Iterator[Loop]:
    """Yield a loop; the signals of the tests are as before afterwards."""
    before = signal.getsignal(signal.SIGCHLD)
    yield Loop(())
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, before)


def test_nothing_is_left_of_a_child_that_was_a_spare_and_then_a_rank(loop: Loop) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    before = descriptors()
    loop.watch_child(child.pid)
    loop.watch_child(child.pid)
    child.wait(30)
    loop.forget_child(child.pid)
    assert descriptors() == before


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
