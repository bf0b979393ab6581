"""A whole cluster in real time for the length of a test: API server, controllers, scheduler, kubelets with processes.

``async with kube_stack(folder, nodes=4) as k``: then ``k.apply(manifest)``, ``k.pods(job)``, ``await k.until(...)``,
and what may befall it: ``k.nodes``, ``k.outage()``, ``k.oom(pod)``. Waits of the real controllers and kubelets are
divided by ``faster``: with 10 a silent node is lost after 5 s, its pods are evicted after 30 s, a Job makes a failed
pod anew after 1 s, a pod has 3 s to end.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from ..controllers.cluster import Cluster
from ..controllers.nodes import NodeTimes
from ..controllers.plane import Pace, Plane
from ..replay.bench import runtime
from ..server import kinds
from ..server.http import ApiServer
from ..server.objects import Obj, labels_of
from ..server.rules import RULES
from ..server.serving import Certificate, Serving, serving
from ..server.store import Store
from .environment import Image
from .images import KEEPSTEP_IMAGE, hidden_paths, keepstep_image, plain_image
from .kubelet import Kubelet, Machines
from .nodes import Nodes, node_object
from .processes import Bind
from .states import Times
from .tokens import PodTokens

JOB_LABEL = "keepstep.io/job"
LIMIT_S = 30.0


def hastened(faster: float) -> Pace:
    """Return the controllers' times divided by ``faster``."""
    real = NodeTimes()
    times = NodeTimes(
        monitor_period=real.monitor_period / faster,
        monitor_grace=real.monitor_grace / faster,
        evictions_apart=real.evictions_apart / faster,
        collection_period=real.collection_period / faster,
        quarantine=real.quarantine / faster,
    )
    pace = Pace(nodes=times, faster=faster)
    return replace(pace, session=pace.session / faster, backoff=pace.backoff / faster, batch=pace.batch / faster)


@dataclass
class KubeStack:
    """A living cluster."""

    folder: Path
    server: Serving
    plane: Plane
    kubelet: Kubelet
    nodes: Nodes
    kubeconfig: Path
    http: httpx.AsyncClient
    running: asyncio.Task[None]

    @property
    def store(self) -> Store:
        """Return the objects."""
        return self.server.app.store

    async def apply(self, manifest: Obj) -> Obj:
        """Create the object as kubectl does, through webhooks and checks, or bring the one that is there in line."""
        kind = kinds.BY_API[manifest["apiVersion"], manifest["kind"]]
        namespace, name = manifest["metadata"].get("namespace", "default"), manifest["metadata"]["name"]
        group = f"apis/{kind.api_version}" if kind.group else "api/v1"
        path = f"/{group}/" + (f"namespaces/{namespace}/" if kind.namespaced else "") + kind.plural
        if self.store.find(kind, name, namespace if kind.namespaced else "") is None:
            reply = await self.http.post(path, json=manifest, params={"fieldManager": "kubectl"})
        else:
            headers = {"content-type": "application/merge-patch+json"}
            reply = await self.http.patch(
                f"{path}/{name}", json=manifest, headers=headers, params={"fieldManager": "kubectl"}
            )
        assert reply.is_success, reply.text
        stored: Obj = reply.json()
        return stored

    def pods(self, job: str | None = None, *, namespace: str = "default") -> list[Obj]:
        """Return the pods of a keepstep job, or all, oldest first."""
        found = self.store.list(kinds.POD, namespace)
        mine = [pod for pod in found if job is None or labels_of(pod).get(JOB_LABEL) == job]
        return sorted(mine, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))

    def pod(self, name: str, namespace: str = "default") -> Obj | None:
        """Return a pod, None if there is none."""
        return self.store.find(kinds.POD, name, namespace)

    async def until(self, holds: Callable[[], object], within: float = LIMIT_S) -> None:
        """Wait until something holds. Raises TimeoutError with all pods' states."""
        try:
            async with asyncio.timeout(within):
                while not holds():
                    self._check_running()
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise TimeoutError(f"not within {within} s; pods:\n{self.told()}") from None

    def log(self, pod: Obj, container: str, *, previous: bool = False) -> str:
        """Return what a container of a pod that is on its node wrote."""
        run = self.kubelet.runs.get(pod["metadata"]["uid"])
        return "" if run is None else run.log(container, previous=previous)

    def processes(self, pod: Obj) -> list[int]:
        """Return the pids, on this machine, of a pod's processes."""
        run = self.kubelet.runs.get(pod["metadata"]["uid"])
        return [] if run is None else run.pids()

    def kill(self, pod: Obj, container: str, *, oom: bool = False) -> None:
        """Kill a container's processes as the kernel does, for want of memory or not."""
        self.kubelet.runs[pod["metadata"]["uid"]].kill(container, oom=oom)

    @asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        """Let the API server be away for the block: nobody can write, kubelets and controllers neither."""
        await self._stop()
        self.server.app.fail()
        try:
            yield
        finally:
            self.server.app.recover()
            names = [node["metadata"]["name"] for node in self.store.scan(kinds.NODE)]
            for name in names:
                self.kubelet.renew(name)
            self.nodes.look(*names)
            self.running = asyncio.create_task(self.plane.run())

    def told(self) -> str:
        """Return all pods in a line each, for people."""
        return "\n".join(_line(pod) for pod in self.store.scan(kinds.POD))

    async def close(self) -> None:
        """End all processes, and tell of a controller that broke."""
        self._check_running()
        await self._stop()

    async def _stop(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)

    def _check_running(self) -> None:
        if self.running.done() and not self.running.cancelled():
            self.running.result()


@asynccontextmanager
async def kube_stack(
    folder: Path,
    *,
    nodes: int | Iterable[str] = 4,
    gpus: int = 8,
    faster: float = 10.0,
    images: Mapping[str, Image] | None = None,
    rbac: bool = False,
    certificate: Certificate | None = None,
) -> AsyncIterator[KubeStack]:
    """Run a cluster for the block. Skips the test where this machine lets nobody make namespaces."""
    needs_namespaces()
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    cluster = Cluster(store)
    times = Times(faster=faster)
    always = tuple(Bind(str(path), str(path), readonly=True) for path in hidden_paths())
    images = {KEEPSTEP_IMAGE: keepstep_image(), **(images or {})}
    machines = Machines(folder / "nodes", images, plain_image(), always, times)
    names = [f"n{number}" for number in range(nodes)] if isinstance(nodes, int) else list(nodes)
    addresses = {name: f"127.{os.getpid() % 250 + 1}.{number + 1}.1" for number, name in enumerate(names)}
    kubelet = Kubelet(cluster, machines, addresses.__getitem__)
    plane = Plane(store, [kubelet], pace=hastened(faster), cluster=cluster)
    _furnish(store)
    app = ApiServer(store, rbac=rbac, collects=False)
    async with serving(app, certificate) as server, _client(server) as http:
        for name in names:
            store.create(kinds.NODE, node_object(name, addresses[name], gpus, store.now()), manager="kubelet")
        the_nodes = Nodes(cluster, kubelet, plane.loop)
        kubelet.reaches = lambda node: node not in the_nodes.lost and not app.unavailable
        kubelet.wake = lambda key: plane.loop.start((kubelet, key))
        kubelet.token = PodTokens(app.reviews)
        kubeconfig = server.kubeconfig(folder / "kubeconfig")
        running = asyncio.create_task(plane.run())
        stack = KubeStack(folder, server, plane, kubelet, the_nodes, kubeconfig, http, running)
        app.verbs.read_log = stack.log
        try:
            yield stack
        finally:
            try:
                await stack.close()
            finally:
                kubelet.close()


def needs_namespaces() -> None:
    """Skip the test where this machine does not let us make namespaces and mounts."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("pods as real processes need unshare (util-linux)")
    command = [unshare, "--mount", "--pid", "--uts", "--fork", "--mount-proc", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pods as real processes need namespaces of their own: {done.stderr.strip()}")


def _client(server: Serving) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {server.app.access.admin_token}"}
    verify = str(server.certificate.cert) if server.certificate else True
    return httpx.AsyncClient(base_url=server.url, headers=headers, verify=verify, trust_env=False, timeout=30)


def _furnish(store: Store) -> None:
    """Make what every real cluster of ours has: a service account, the training runtime."""
    store.create(kinds.SERVICE_ACCOUNT, {"metadata": {"name": "default", "namespace": "default"}})
    store.create(kinds.CLUSTER_TRAINING_RUNTIME, runtime("torch-distributed"))


def _line(pod: Obj) -> str:
    meta, status = pod["metadata"], pod.get("status", {})
    states = [
        f"{one['name']}:{'/'.join(one['state'])}{one['state'].get('terminated', {}).get('exitCode', '')}"
        for one in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    ]
    leaving = " deleted" if "deletionTimestamp" in meta else ""
    node = pod["spec"].get("nodeName", "no node")
    return f"{meta['name']} {meta['uid'][:8]} {status.get('phase')} on {node}{leaving} {' '.join(states)}"
