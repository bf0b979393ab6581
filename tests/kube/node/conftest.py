"""A small cluster for each test of the kubelet."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .stack import KubeStack, kube_stack


@pytest.fixture
async def k(tmp_path: Path) -> AsyncIterator[KubeStack]:
    async with kube_stack(tmp_path, nodes=2, faster=20) as stack:
        yield stack
