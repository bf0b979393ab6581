"""The test API server with a client of keepstep's on it, for tests of the adapters."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from keepstep.adapters.kube_cache import Rhythm
from keepstep.adapters.kube_client import KubeClient, Write
from keepstep.adapters.kube_connect import connect
from tests.kube.server import kinds
from tests.kube.server.fleet import add_node
from tests.kube.server.http import ApiServer
from tests.kube.server.rules import RULES
from tests.kube.server.serving import Serving, serving
from tests.kube.server.store import Store

LIMIT_S = 20.0


@dataclass
class Cluster:
    """A server, what is stored in it, and a client that keeps its audit."""

    server: Serving
    store: Store
    client: KubeClient
    writes: list[Write] = field(default_factory=list)
    pauses: list[timedelta] = field(default_factory=list)

    def pod(self, name: str, **patch: Any) -> dict[str, Any]:
        spec = {"containers": [{"name": "main", "image": "train:1"}]}
        return self.store.create(kinds.POD, {"metadata": {"name": name}, "spec": spec, **patch}, "default")

    def node(self, name: str) -> None:
        add_node(self.store, name)

    @property
    def rhythm(self) -> Rhythm:
        """Waits for nothing and keeps what it would have waited."""

        async def sleep(pause: timedelta) -> None:
            self.pauses.append(pause)
            await asyncio.sleep(0)

        return Rhythm(sleep=sleep, jitter=lambda: 0.0)


@asynccontextmanager
async def cluster(folder: Path, *, history: int = 10_000, rbac: bool = False) -> AsyncIterator[Cluster]:
    """Serve an empty cluster for the block."""
    store = Store(lambda: datetime.now(UTC), rules=RULES, history=history)
    writes: list[Write] = []
    async with serving(ApiServer(store, rbac=rbac, bookmark_seconds=0.05)) as server:
        client = KubeClient(connect(server.kubeconfig(folder / "config")), audit=writes.append)
        try:
            yield Cluster(server, store, client, writes)
        finally:
            await client.close()


async def until(met: Callable[[], bool]) -> None:
    """Wait for a condition, at most 20 s."""
    async with asyncio.timeout(LIMIT_S):
        while not met():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.005)
