"""An agent's surroundings, for whoever asks for them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.doubles import FakeBus, FakeLauncher
from tests.agent.scene import Scene


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with FakeLauncher(tmp_path) as launcher:
        yield Scene(tmp_path, FakeBus(), launcher)
