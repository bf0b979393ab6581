"""The six services as processes on a big cluster whose jobs have been running for a while, and what they say."""

import asyncio
import json
import os
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import log as logarithm
from pathlib import Path
from typing import Any

import yaml
from nats.errors import TimeoutError as NatsTimeout
from pydantic import SecretStr

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_connect import connect
from keepstep.adapters.kube_job import JOB
from keepstep.adapters.kube_json import rows
from keepstep.contracts.events import IncidentOpened, IsolationDeclined, JobFound, NodeIsolated
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.fold import Fold
from keepstep.runtime.folds import Folds
from keepstep.runtime.nats_server import NatsServer, dying_with
from keepstep.runtime.service import open_store
from keepstep.runtime.settings import Settings
from keepstep.scheduler_adapter.core.state import JobState

from ...pipeline.stream import Signal
from ...system.store import Store
from .layout import Layout
from .planted import POOL, job_ref
from .running import Job

ROOT = Path(__file__).parents[3]
START_S = 120.0
POLL_S = 0.2
HEARD = (JobFound, IncidentOpened, NodeIsolated, IsolationDeclined)
"""To take in all that is said would cost a core half a millisecond each, on the machine that is measured."""


@dataclass(frozen=True)
class Loss:
    """When nodes were lost (seconds, wall clock), how, which, and how many changes a second there were until then."""

    at: float
    how: str
    nodes: list[str]
    per_s: float


@dataclass
class Cluster:
    """The process that serves the cluster."""

    process: Process
    kubeconfig: Path

    async def lose(self, count: int, how: str) -> Loss:
        """Lose so many nodes at once and return when that was there to be seen."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"lose": count, "how": how}).encode() + b"\n")
        answer = await _line(self.process)
        return Loss(answer["lost_at"], how, answer["nodes"], answer["per_s"])


@dataclass
class Stack:
    """The processes, and what was said since they began, as far as it is measured."""

    folder: Path
    cluster: Cluster
    client: Client
    jobs: list[Job]
    services: "dict[Service, subprocess.Popen[bytes]]" = field(default_factory=dict)
    said: list[tuple[float, Message]] = field(default_factory=list)
    """When the stream had it (seconds, wall clock), and what."""
    changed: Signal = field(default_factory=Signal)

    async def listen(self, first: int) -> None:
        """Hear what is measured, from this sequence on."""
        async with asyncio.TaskGroup() as group:
            for kind in HEARD:
                group.create_task(self._listen(kind, first))

    async def _listen(self, kind: type[Message], first: int) -> None:
        async for heard in self.client.follow(first=first, kind=kind.__name__):
            if heard.message is not None:
                self.said.append((heard.time.timestamp(), heard.message))
                self.changed.ring()

    async def heard(self, *, since: int) -> None:
        """Return once more was said than so many messages."""
        while len(self.said) <= since:
            await self.changed.changed()

    async def caught_up(self) -> None:
        """Return once every service that was started has taken in all that is in the stream now."""
        last = await self.client.last_sequence()
        while any(floor < last for floor in (await self._floors()).values()):
            self.check()
            await asyncio.sleep(POLL_S)

    async def found(self) -> None:
        """Return once the scheduler-adapter has listed the cluster and told of every job."""
        async with asyncio.timeout(START_S):
            while len({m.job for _, m in self.said if isinstance(m, JobFound)}) < len(self.jobs):
                self.check()
                await self.heard(since=len(self.said))

    def check(self) -> None:
        """Raise AssertionError if a service died."""
        dead = [name for name, process in self.services.items() if process.poll() is not None]
        assert not dead, f"{', '.join(dead)} died: see its log in {self.folder}"

    def fallen(self) -> int:
        """Return how often a service lost its lease or its connection, and began anew."""
        logs = (self.folder / f"{service}.log" for service in self.services)
        return sum(log.read_text(encoding="utf-8").count("no longer active") for log in logs)

    async def _floors(self) -> dict[str, int]:
        """Return up to where each service has acknowledged everything; idle ones are as far as the stream."""
        floors = dict.fromkeys(map(str, self.services), -1)
        try:
            found = await self.client.js.consumers_info(names.stream_name(POOL))
        except NatsTimeout:
            return floors  # the server has six services that start to attend to
        for info in found:
            service = info.name.rpartition("-")[0]
            idle = info.num_pending == 0 and info.num_ack_pending == 0
            if service in floors:
                floors[service] = sys.maxsize if idle else 0
        return floors


async def _line(process: Process) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(START_S):
        answer: dict[str, Any] = json.loads(await process.stdout.readline())
    return answer


@asynccontextmanager
async def serving(folder: Path, layout: Layout, *, updates: float, storm: int) -> AsyncIterator[Cluster]:
    """Serve the cluster for the block."""
    kubeconfig = folder / "kubeconfig"
    numbers = {"nodes": layout.nodes, "jobs": layout.jobs, "updates": updates, "storm": storm}
    told = [word for name, number in numbers.items() for word in (f"--{name}", str(number))]
    arguments = ["-m", "tests.kube.scale.cluster", *told, "--kubeconfig", str(kubeconfig)]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    try:
        await _line(process)
        yield Cluster(process, kubeconfig)
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def stacked(folder: Path, layout: Layout, *, updates: float = 200, storm: int = 5) -> AsyncIterator[Stack]:
    """Run cluster, bus, store and the six services for the block; all jobs run, and every service knows them."""
    async with AsyncExitStack() as cleaning:
        cluster = await cleaning.enter_async_context(serving(folder, layout, updates=updates, storm=storm))
        server, store = NatsServer(folder / "nats", outlives_machine=False), Store(folder)
        url = await server.start()
        cleaning.push_async_callback(server.stop)
        store.start()
        cleaning.callback(_end, store)
        settings = Settings(
            nats_url=url, pool=POOL, store=SecretStr(store.url), cluster=f"kubernetes:{cluster.kubeconfig}"
        )
        client = await Client.open(url.get_secret_value(), POOL, name="scale")
        cleaning.push_async_callback(client.close)
        await client.provision()
        stack = Stack(folder, cluster, client, await _jobs(cluster, layout, storm=storm))
        await _remember(settings, client, stack.jobs)
        cleaning.callback(_end_services, stack)
        listening = asyncio.create_task(stack.listen(await client.last_sequence() + 1))
        cleaning.callback(listening.cancel)
        for service in Service:  # one after another: together they would have a core for six, and lose their leases
            stack.services[service] = _start(folder, service, settings)
            async with asyncio.timeout(START_S):
                await stack.caught_up()
        await stack.found()
        yield stack


async def _jobs(cluster: Cluster, layout: Layout, *, storm: int) -> list[Job]:
    """Read the job objects off the API server."""
    kube = KubeClient(connect(cluster.kubeconfig), audit=lambda _: None)
    found = rows(await kube.page(JOB.resource, {}), "items")
    await kube.close()
    refs = sorted((job_ref(dict(job)) for job in found), key=lambda ref: ref.name)
    return [Job.of(ref, number, layout, storm=storm) for number, ref in enumerate(refs)]


async def _remember(settings: Settings, client: Client, jobs: list[Job]) -> None:
    """Give every service what it would know of jobs that run: the stream to all, its own folds to the adapter."""
    now = datetime.now(UTC)
    created = (await client.js.stream_info(names.stream_name(POOL))).created
    assert created is not None
    store = open_store(settings, client, names.folds_room(POOL, Service.SCHEDULER_ADAPTER))
    folds = Folds(store, JobState, fence=0, stream=created.isoformat())
    for job in jobs:
        for message in job.said(now):
            await client.publish(message)
        await folds.save(job.ref.uid, Fold(job.state(now), applied=0, job=job.ref, restated=now))
    await folds.mark(0)


def _niceness(service: Service) -> int:
    """Return how far this service stands back where cores are short, as its share of CPU in ``k8s/base`` says.

    The kernel gives a quarter more for each step of niceness (sched(7)), and to a pod what it requests.
    """
    return round(logarithm(_requested(Service.DETECTOR) / _requested(service), 1.25))


def _requested(service: Service) -> int:
    """Return the CPU request of a service in thousandths of a core."""
    documents = yaml.safe_load_all((ROOT / "k8s" / "base" / f"{service}.yaml").read_text(encoding="utf-8"))
    (deployment,) = (one for one in documents if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return int(container["resources"]["requests"]["cpu"].removesuffix("m"))


def _start(folder: Path, service: Service, settings: Settings) -> "subprocess.Popen[bytes]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSTEP_")}
    environment |= {
        "KEEPSTEP_NATS_URL": settings.nats_url.get_secret_value(),
        "KEEPSTEP_POOL": POOL,
        "KEEPSTEP_STORE": settings.store.get_secret_value(),
        "KEEPSTEP_CLUSTER": settings.cluster,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    module = f"keepstep.{service.replace('-', '_')}"
    with (folder / f"{service}.log").open("ab") as log:
        return subprocess.Popen(
            ["nice", "-n", str(_niceness(service)), sys.executable, "-m", module],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 - nothing but exec follows
        )


def _end(store: Store) -> None:
    if store.process is not None:
        store.process.kill()
        store.process.wait()


def _end_services(stack: Stack) -> None:
    for process in stack.services.values():
        process.kill()
        process.wait()
