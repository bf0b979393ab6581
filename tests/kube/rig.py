"""A server that listens, its store and a client: what the tests of the HTTP face start from."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from tests.kube.server import kinds
from tests.kube.server.http import ApiServer
from tests.kube.server.objects import Obj
from tests.kube.server.serving import Serving, serving
from tests.kube.server.store import Store

PODS = "/api/v1/namespaces/default/pods"


@dataclass
class Rig:
    """A server that listens, its store and a client."""

    server: Serving
    http: httpx.AsyncClient
    store: Store
    lines: list[Obj] = field(default_factory=list)

    @property
    def app(self) -> ApiServer:
        return self.server.app

    def create_pod(self, name: str, **labels: str) -> Obj:
        spec = {"containers": [{"name": "main", "image": "train:1"}]}
        return self.store.create(kinds.POD, {"metadata": {"name": name, "labels": labels}, "spec": spec}, "default")

    def label(self, name: str, **labels: str) -> None:
        self.store.patch(kinds.POD, name, {"metadata": {"labels": labels}}, "default")

    async def watch(self, query: str, *, until: int, path: str = PODS) -> list[tuple[str, str]]:
        """Return type and name of the first lines of a watch."""
        async with self.http.stream("GET", f"{path}?watch=true&{query}") as reply:
            return await self.read(reply, until)

    @asynccontextmanager
    async def watching(self, query: str = "") -> AsyncIterator[httpx.Response]:
        before = self.app.watches.count()
        async with self.http.stream("GET", f"{PODS}?watch=true&{query}") as reply:
            await until(lambda: self.app.watches.count() > before)
            yield reply

    async def read(self, reply: httpx.Response, until: int) -> list[tuple[str, str]]:
        async with asyncio.timeout(10):
            async for line in reply.aiter_lines():
                self.lines.append(json.loads(line))
                if len(self.lines) == until:
                    break
        told, self.lines = self.lines, []
        return [(line["type"], line["object"].get("metadata", {}).get("name", "")) for line in told]


@asynccontextmanager
async def rig_of(
    store: Store, *, rbac: bool = False, without: frozenset[kinds.Kind] = frozenset()
) -> AsyncIterator[Rig]:
    served = [kind for kind in kinds.KINDS if kind not in without]
    app = ApiServer(store, rbac=rbac, served=served, bookmark_seconds=0.1)
    async with serving(app) as server, httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=10) as http:
        yield Rig(server, http, store)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - what is waited for happens in the same loop
            await asyncio.sleep(0)
