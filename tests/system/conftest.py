"""A real job per test; whatever happens, nothing of it is left running."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.system.endless import spec
from tests.system.job import JobTest
from tests.system.loop import CHEAP, LOOP, STEPS
from tests.system.stack import Stack, stacked
from tests.system.undisturbed import TRAIN, undisturbed_losses

LONGEST = 300
"""Steps of the undisturbed run: no test trains longer."""


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Callable[..., JobTest]]:
    """Start ``keepstep run`` with the example training; options with dashes go to the script."""
    started: list[JobTest] = []

    def start(*script: str, steps: int = 60, pace: float = 0.05, save_every: int = 10, **how: object) -> JobTest:
        """Start a job of the example training, or of ``script`` unless its first word is an option."""
        training = script if script and not script[0].startswith("--") else (TRAIN, *script)
        if training[0] == TRAIN:
            training += ("--steps", str(steps), "--step-seconds", str(pace), "--save-every", str(save_every))
            training += ("--checkpoint-dir", str(tmp_path / "checkpoints"), "--losses", str(tmp_path / "losses.jsonl"))
        started.append(JobTest(tmp_path, *training, **how))  # type: ignore[arg-type]  # passed on as they are
        return started[-1]

    yield start
    for one in started:
        one.abandon()
        for pid in one.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def loop(job: Callable[..., JobTest], tmp_path: Path) -> Callable[..., JobTest]:
    """Start the loop without torch; a step takes ``pace`` seconds, and each run saves every ten steps."""

    def start(pace: float = 0.1, policy: str = CHEAP, *, steps: int = STEPS, **how: object) -> JobTest:
        where = ("--checkpoint-dir", str(tmp_path / "checkpoints"))
        return job(LOOP, "--steps", str(steps), "--step-seconds", str(pace), *where, policy=policy, **how)

    return start


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, float]:
    """The losses of four ranks of the example training when nothing happens to them."""
    return undisturbed_losses(tmp_path_factory.mktemp("undisturbed"), ranks=4, steps=LONGEST)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """One stack with one endless job for all tests of a file."""
    folder = tmp_path_factory.mktemp("stack")
    async with stacked(folder) as started:
        await started.create(spec(folder))
        yield started
