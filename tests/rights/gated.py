"""A cluster's bus with its gate, and the API server that the gate asks: shipped rights, shipped Roles."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import SecretStr

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_connect import connect
from keepstep.adapters.kube_marks import AUDIENCE
from keepstep.adapters.kube_tokens import KubeTokens
from keepstep.contracts.ids import Pool, TaskUid
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import TaskLaunch, TaskRef
from keepstep.gate.app import Gate
from keepstep.gate.settings import Settings
from keepstep.ports.errors import Transient
from keepstep.runtime.client import Client
from keepstep.runtime.gatehouse import gatehouse
from keepstep.runtime.login import Login
from keepstep.runtime.rights import DEFAULT, user_of
from keepstep.runtime.rights_of_pods import GATE, RIGHTS_LAST, Caller
from keepstep.runtime.settings import Settings as Shared
from keepstep.runtime.tasks import end
from tests.agent.makers import launch
from tests.kube.cluster import Cluster, cluster
from tests.kube.server import kinds
from tests.rights.guarded import Guarded, cluster_bus
from tests.rights.manifests import K8S, documents
from tests.rights.roles import let_in, put_roles

T = TypeVar("T")

JOBS = "team-a"
"""The namespace that was let in, as ``kubectl apply -n team-a -k k8s/jobs`` does."""

FOREIGN = "team-b"
"""One that was not."""
NODES, NODE = "keepstep-nodes", "n1"

_OF_NODES = {"Role": kinds.ROLE, "RoleBinding": kinds.ROLE_BINDING, "ServiceAccount": kinds.SERVICE_ACCOUNT}


@dataclass
class Gated:
    """Bus, gate and API server."""

    bus: Guarded
    there: Cluster
    folder: Path
    adapter: Client
    """The scheduler-adapter, which binds pods and writes plans."""
    gates: list["asyncio.Task[None]"] = field(default_factory=list)

    def pod(self, name: str, namespace: str = JOBS) -> dict[str, Any]:
        """Make a pod."""
        spec = {"containers": [{"name": "main", "image": "train:1"}], "nodeName": NODE}
        account = {"serviceAccountName": "node-agent"} if namespace == NODES else {}
        return self.there.store.create(kinds.POD, {"metadata": {"name": name}, "spec": {**spec, **account}}, namespace)

    def token(self, pod: dict[str, Any], *, audience: str = AUDIENCE, seconds: float = 3600.0) -> str:
        """Return a token of a pod, as the kubelet puts one into its volume."""
        return self.there.server.app.reviews.pod_token(pod, audience=audience, seconds=seconds)

    async def bind(self, pod: dict[str, Any], job: str, task: str) -> TaskLaunch:
        """Say which task a pod is."""
        made = launch(pool=self.adapter.pool, task=TaskRef(name=task, uid=TaskUid(task), index=0))
        made = made.model_copy(update={"job": made.job.model_copy(update={"uid": job})})
        await patiently(lambda: self.adapter.bindings.bind(pod["metadata"]["uid"], made))
        return made

    async def knocks(self, pod: dict[str, Any], proof: str | Callable[[], str], *, uid: str = "") -> Client:
        """Connect as the agent of a pod; ``uid`` is another's, for who lies."""
        shown = proof if callable(proof) else lambda: proof
        caller = Caller(self.adapter.pool, uid or pod["metadata"]["uid"])
        return await self.enters(caller, shown)

    async def enters(self, caller: Caller, proof: Callable[[], str]) -> Client:
        """Connect as an agent, however long that takes."""
        return await Client.knock(self.bus.address, caller.pool, name="agent", login=Login.of(caller, proof))

    async def open_gate(self, *pools: Pool, remembered: float = 0.0, lasts: timedelta = RIGHTS_LAST) -> None:
        """Start a gate; ``lasts`` is how long the rights do that it gives."""
        seed = SecretStr(self.bus.key.seed if self.bus.key else "")
        ready = asyncio.Event()
        settings = Settings(seed=seed, pools=pools or (DEFAULT,), remembered_seconds=remembered)
        self.gates.append(asyncio.create_task(self._serve(settings, lasts, ready)))
        async with asyncio.timeout(60):
            await ready.wait()

    async def close_gates(self) -> None:
        """End all gates at once."""
        gone, self.gates = self.gates, []
        await end(gone)

    async def _serve(self, settings: Settings, lasts: timedelta, ready: asyncio.Event) -> None:
        client = KubeClient(connect(self.there.server.kubeconfig(self.folder / "gate")), audit=lambda _: None)
        async with gatehouse(Shared(nats_url=self.bus.url(GATE)), settings.seed) as house:
            gate = Gate(settings, KubeTokens(client), house.bindings, now=_now, monotonic=time.monotonic, lasts=lasts)
            ready.set()
            try:
                await house.serve(gate.judge, now=_now)
            finally:
                await client.close()


def _now() -> datetime:
    return datetime.now(UTC)


async def patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """Try until the bus answers in time, which a busy machine may not let it: at most a minute."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await attempt()
            except Transient:
                continue


@asynccontextmanager
async def gated(folder: Path, *pools: Pool, gates: int = 1) -> AsyncIterator[Gated]:
    """Run all of it until the block ends, the pool provisioned."""
    async with cluster(folder) as there, cluster_bus(folder, *pools) as bus:
        grant(there)
        pool = pools[0] if pools else DEFAULT
        for each in pools or (DEFAULT,):
            await provisioned(bus, each)
        url = bus.url(user_of(Service.SCHEDULER_ADAPTER, pool)).get_secret_value()
        adapter = await Client.open(url, pool, name="scheduler-adapter")
        made = Gated(bus, there, folder, adapter)
        for _ in range(gates):
            await made.open_gate(*pools)
        yield made
        await made.close_gates()
        await adapter.close()


async def provisioned(bus: Guarded, pool: Pool) -> None:
    """Make a pool's streams and buckets, as the first of its services does."""
    client = await Client.open(bus.url(user_of(Service.DETECTOR, pool)).get_secret_value(), pool, name="detector")
    await patiently(client.provision)
    await client.close()


def grant(there: Cluster) -> None:
    """Put the shipped Roles into the cluster, let one namespace in, and be the gate from now on."""
    put_roles(there.store)
    for name in (JOBS, FOREIGN, NODES):
        there.store.create(kinds.NAMESPACE, {"metadata": {"name": name}})
    let_in(there.store, JOBS)
    for one in documents(K8S / "nodes/node-agent.yaml"):
        if (kind := _OF_NODES.get(one["kind"])) is not None:
            there.store.create(kind, one, NODES)
    access = there.server.app.access
    access.enforced = True
    access.admin_token = access.token("keepstep", GATE)
