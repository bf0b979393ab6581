"""One cluster for the tests of the adapters: the double, or the real one that KEEPSTEP_TEST_KUBECONFIG names.

A real one needs an API server and a controller manager and may have more; nodes may be simulated and no kubelet need
run. Each test has a namespace and node names of its own, and takes them away at its end.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from keepstep.adapters.kube_cache import Rhythm
from keepstep.adapters.kube_client import KubeClient, Write
from keepstep.adapters.kube_connect import connect
from tests.kube.admin import Admin, Obj
from tests.kube.cluster import LIMIT_S
from tests.kube.controllers.plane import Plane
from tests.kube.gate import Gate
from tests.kube.server import kinds
from tests.kube.server.http import ApiServer
from tests.kube.server.kinds import Kind
from tests.kube.server.rules import RULES
from tests.kube.server.serving import Listener, serving
from tests.kube.server.store import Store

REAL = "KEEPSTEP_TEST_KUBECONFIG"
RUN = "keepstep.io/test"
"""Label of all that a test makes outside its namespace."""
_READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a test says so"}


@dataclass
class Api:
    """A server behind a gate, its administrator, and a client of keepstep's that keeps its audit."""

    kubeconfig: Path
    """The administrator's, past the gate."""
    admin: Admin
    gate: Gate
    door: Listener
    client: KubeClient
    namespace: str
    forget: Callable[[], None]
    """Let the version of the next watch be too old."""
    writes: list[Write] = field(default_factory=list)
    pauses: list[timedelta] = field(default_factory=list)

    @property
    def everything(self) -> dict[str, str]:
        """Select what this test made of a namespaced kind."""
        return {"fieldSelector": f"metadata.namespace={self.namespace}"}

    @property
    def nodes(self) -> dict[str, str]:
        """Select the nodes that this test made."""
        return {"labelSelector": f"{RUN}={self.namespace}"}

    def named(self, name: str) -> str:
        """Return a name that no other test uses, for objects outside namespaces."""
        return f"{self.namespace}-{name}"

    async def pod(self, name: str, **patch: Any) -> Obj:
        """Create a pod that no scheduler takes."""
        container = {"name": "main", "image": "train:1"}
        spec = {"containers": [container], "schedulerName": "nobody", "automountServiceAccountToken": False}
        return await self.create(kinds.POD, {"metadata": {"name": name}, "spec": spec, **patch})

    async def runs(self, name: str) -> None:
        """Say what a kubelet would say of a pod that runs."""
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await self.admin.patch(kinds.POD, name, {"status": status}, self.namespace, sub="status")

    async def node(self, name: str) -> Obj:
        """Create a node that says it is ready."""
        labels = {RUN: self.namespace}
        made = await self.admin.create(kinds.NODE, {"metadata": {"name": self.named(name), "labels": labels}})
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {**_READY, "lastHeartbeatTime": now, "lastTransitionTime": now}
        return await self.admin.patch(
            kinds.NODE, made["metadata"]["name"], {"status": {"conditions": [ready]}}, sub="status"
        )

    async def create(self, kind: Kind, body: Obj) -> Obj:
        """Create an object in the test's namespace; skips the test where the server lacks its kind."""
        if not await self.admin.serves(kind):
            pytest.skip(f"this API server has no {kind.resource} of version {kind.version}")
        return await self.admin.create(kind, body, self.namespace)

    @property
    def rhythm(self) -> Rhythm:
        """Waits for nothing and keeps what it would have waited."""

        async def sleep(pause: timedelta) -> None:
            self.pauses.append(pause)
            await asyncio.sleep(0.001)

        return Rhythm(sleep=sleep, jitter=lambda: 0.0)

    async def down(self) -> None:
        """Refuse connections, and break those that are open."""
        self.gate.cut()
        await self.door.down()

    async def up(self) -> None:
        """Take connections again."""
        await self.door.up()


@asynccontextmanager
async def api(folder: Path) -> AsyncIterator[Api]:
    """Give the block a cluster."""
    given = os.environ.get(REAL)
    if given:
        async with _behind(Path(given), folder, _stale) as there:
            await _until_pods_may_be(there)
            yield there
        return
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    controllers = asyncio.create_task(Plane(store).run())
    async with (
        serving(ApiServer(store, bookmark_seconds=0.05)) as server,
        _behind(server.kubeconfig(folder / "double"), folder, lambda _: store.compact) as there,
    ):
        yield there
    controllers.cancel()
    with suppress(asyncio.CancelledError):
        await controllers


def _stale(gate: Gate) -> Callable[[], None]:
    def forget() -> None:
        gate.stale = True

    return forget


@asynccontextmanager
async def _behind(
    kubeconfig: Path, folder: Path, forgetting: Callable[[Gate], Callable[[], None]]
) -> AsyncIterator[Api]:
    async with connect(kubeconfig) as upstream, connect(kubeconfig) as http:
        http.headers["User-Agent"] = "kubectl/1.0"
        gate, admin = Gate(upstream), Admin(http)
        door = Listener(gate)
        await door.up()
        writes: list[Write] = []
        client = KubeClient(connect(_open(door, folder / "config")), audit=writes.append)
        namespace = f"keepstep-test-{uuid4().hex[:10]}"
        await admin.create(kinds.NAMESPACE, {"metadata": {"name": namespace}})
        there = Api(kubeconfig, admin, gate, door, client, namespace, forgetting(gate), writes)
        try:
            yield there
        finally:
            await client.close()
            await there.down()
            await admin.delete(kinds.NAMESPACE, namespace)
            for node in await admin.items(kinds.NODE, **there.nodes):
                await admin.delete(kinds.NODE, node["metadata"]["name"])


def _open(door: Listener, path: Path) -> Path:
    """Write a kubeconfig for the gate, which has the credentials itself."""
    head = {"apiVersion": "v1", "kind": "Config", "current-context": "gate"}
    context = {"name": "gate", "context": {"cluster": "gate", "user": "gate"}}
    clusters, users = [{"name": "gate", "cluster": {"server": door.url}}], [{"name": "gate", "user": {}}]
    path.write_text(json.dumps({**head, "clusters": clusters, "users": users, "contexts": [context]}))
    return path


async def _until_pods_may_be(there: Api) -> None:
    """A real server admits no pod before the namespace has its service account."""
    await eventually(lambda: _has_account(there))


async def _has_account(there: Api) -> bool:
    accounts = await there.admin.items(kinds.SERVICE_ACCOUNT, there.namespace)
    return any(one["metadata"]["name"] == "default" for one in accounts)


async def eventually(met: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition that has to be asked for, at most 20 s."""
    async with asyncio.timeout(LIMIT_S):
        while not await met():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.05)
