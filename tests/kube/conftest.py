"""The cluster that tests of the adapters share: each has its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kube.api import Api, api


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Api]:
    """Yield the double, or the real cluster of KEEPSTEP_TEST_KUBECONFIG."""
    async with api(tmp_path) as there:
        yield there
