"""A cluster's bus and its gate, for whoever asks to be let in."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.rights.gated import Gated, gated


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Gated]:
    """Serve them for the test."""
    async with gated(tmp_path) as running:
        yield running
