"""keepstep on a test cluster as its manifests deploy it: nobody is trusted further than there.

Each service is a process of its own with its own password on the bus, its own token and Role on the API server; folds
are in Redis. Pods have no password: their agents are let in by the gate alone, by the token of their volume.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nats.js.errors import KeyNotFoundError
from pydantic import SecretStr

from keepstep.contracts.subjects import PEOPLE
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import dying_with
from keepstep.runtime.rights import DEFAULT
from keepstep.runtime.rights_of_pods import GATE
from tests.rights.guarded import Guarded, cluster_bus
from tests.rights.roles import let_in, orders_in, put_roles
from tests.system.store import Store

from .services import LIMIT_S, Keepstep, environment
from .stack import KubeStack

NAMESPACE = "keepstep"


@dataclass(kw_only=True)
class Deployed(Keepstep):
    """The bus, the store, and every service and the gate as a process."""

    guarded: Guarded
    store: Store
    leases: Client
    processes: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """Return the file of the service that acts."""
        return self.log_of(Service.SCHEDULER_ADAPTER)

    def log_of(self, who: str) -> Path:
        """Return what a service, or the gate, wrote."""
        return self.k.folder / f"{who}.log"

    @property
    def refused(self) -> list[str]:
        """Return what bus and API server refused of what anybody tried."""
        bus = (self.k.folder / "bus" / "nats.log").read_text(encoding="utf-8").splitlines()
        words = [line for line in bus if "iolation" in line]
        return words + [str(call) for call in self.k.server.app.calls if call.code in {401, 403}]

    def start_one(self, who: str) -> None:
        """Start a service, or the gate."""
        told = environment() | {
            "KEEPSTEP_NATS_URL": self.guarded.url(who).get_secret_value(),
            "KEEPSTEP_POOL": DEFAULT,
            "KEEPSTEP_STORE": self.store.url,
            "KEEPSTEP_CLUSTER": f"kubernetes:{self._kubeconfig(who)}",
            "KEEPSTEP_CREATE_IN": '["default"]',
        }
        if who == GATE:
            told["KEEPSTEP_GATE_SEED"] = self.guarded.key.seed if self.guarded.key else ""
        with self.log_of(who).open("ab") as log:
            self.processes[who] = subprocess.Popen(
                [sys.executable, "-m", f"keepstep.{who.replace('-', '_')}"],
                env=told,
                stdout=log,
                stderr=log,
                preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 - nothing but exec follows
            )

    def kill_one(self, who: str) -> None:
        """SIGKILL a service, or the gate."""
        self.processes[who].kill()
        self.processes[who].wait()

    def start(self) -> None:
        """Start the six services and the gate."""
        for who in (*Service, GATE):
            self.start_one(who)

    def kill(self) -> None:
        """SIGKILL the six services and the gate."""
        for who in self.processes:
            self.kill_one(who)

    async def ready(self) -> None:
        """Return once every service has its lease."""
        async with asyncio.timeout(LIMIT_S):
            for service in Service:
                while not await self.active(service):
                    self._check(service)
                    await asyncio.sleep(0.05)  # a lease has no event

    async def active(self, service: Service) -> bool:
        """Return whether the process of a service, the one that lives, holds its lease."""
        try:
            held = (await (await self.leases.js.key_value(names.leases_bucket(DEFAULT))).get(service)).value
        except KeyNotFoundError:
            return False
        return held is not None and int(held.split()[0].rpartition(b"-")[2]) == self.processes[service].pid

    def _check(self, service: Service) -> None:
        if self.processes[service].poll() is not None:
            raise AssertionError(f"{service} ended\n{self.log_of(service).read_text(encoding='utf-8')[-2000:]}")

    def _kubeconfig(self, who: str) -> Path:
        token = self.k.server.app.access.token(NAMESPACE, who)
        return self.k.server.kubeconfig(self.k.folder / f"{who}.kubeconfig", token)


@asynccontextmanager
async def deployed_on(k: KubeStack) -> AsyncIterator[Deployed]:
    """Run keepstep on a cluster that asks for rights, for the block; namespace ``default`` has jobs and orders."""
    assert k.server.app.access.enforced, "kube_stack(..., rbac=True)"
    put_roles(k.store)
    let_in(k.store, "default")
    orders_in(k.store, "default")
    (folder := k.folder / "bus").mkdir()
    async with AsyncExitStack() as cleaning:
        bus = await cleaning.enter_async_context(cluster_bus(folder))
        store = Store(k.folder)
        cleaning.callback(_end, store)
        store.start()
        people = await _connected(cleaning, bus, PEOPLE)
        leases = await _connected(cleaning, bus, Service.DETECTOR)
        await leases.provision()
        made = Deployed(k, SecretStr(bus.address), people, guarded=bus, store=store, leases=leases)
        cleaning.callback(made.kill)
        listening = asyncio.create_task(made.listen())
        cleaning.callback(listening.cancel)
        made.start()
        await made.ready()
        yield made


async def _connected(cleaning: AsyncExitStack, bus: Guarded, user: str) -> Client:
    client = await Client.open(bus.url(user).get_secret_value(), DEFAULT, name=f"test as {user}")
    cleaning.push_async_callback(client.close)
    return client


def _end(store: Store) -> None:
    if store.process is not None:
        store.process.kill()
        store.process.wait()
