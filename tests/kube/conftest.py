"""The clusters and servers that tests of the adapters and of the double share: each test has its own."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from tests.kube.api import Api, api
from tests.kube.double import NODE, Double
from tests.kube.rig import Rig, rig_of
from tests.kube.server import kinds
from tests.kube.server.http import ApiServer
from tests.kube.server.rules import RULES
from tests.kube.server.serving import serving
from tests.kube.server.store import Store


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Api]:
    """Yield the double, or the real cluster of KEEPSTEP_TEST_KUBECONFIG."""
    async with api(tmp_path) as there:
        yield there


@pytest.fixture
def store() -> Store:
    """Return an empty store that holds to all rules."""
    return Store(lambda: datetime.now(UTC), rules=RULES)


@pytest.fixture
async def rig(store: Store) -> AsyncIterator[Rig]:
    """Yield a server of the store, and a client."""
    async with rig_of(store) as rig:
        yield rig


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    """Yield a server with a namespace and two nodes, and a client."""
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    store.create(kinds.NAMESPACE, {"metadata": {"name": "ns"}})
    store.create(kinds.NODE, {"metadata": {"name": NODE}, "spec": {}})
    store.create(kinds.NODE, {"metadata": {"name": "n1"}, "spec": {}})
    async with (
        serving(ApiServer(store, bookmark_seconds=0.4)) as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False) as http,
    ):
        yield Double(store, http)
