"""A small cluster for each test of the kubelet, and what a training makes of itself."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.system.undisturbed import undisturbed_losses

from .stack import KubeStack, kube_stack


@pytest.fixture
async def k(tmp_path: Path) -> AsyncIterator[KubeStack]:
    async with kube_stack(tmp_path, nodes=2, faster=20) as stack:
        yield stack


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, float]:
    """The losses of two ranks of the example training when nothing happens to them; no test trains longer."""
    return undisturbed_losses(tmp_path_factory.mktemp("undisturbed"), ranks=2, steps=800)
