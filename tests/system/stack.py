"""A deployed stack in small: a server, a store and six services as processes of their own, each of which can be struck.

Unlike ``keepstep run`` nothing here looks after anything else: who is killed stays dead until the test starts it again.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from nats.js.errors import KeyNotFoundError

from keepstep.adapters.local_nodes import LocalNodes
from keepstep.contracts.ids import EventId, JobUid, Pool
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.topology import JobRef, JobSpec
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import dying_with
from keepstep.trainer.progress import Page, Slot
from tests.pipeline.stream import Signal
from tests.system.store import Served, Store

JOB = JobRef(name="loop", uid=JobUid("loop-1"))
POOL = Pool("cut")
LIMIT_S = 30.0
NONE_BESIDE: Mapping[str, str] = {}

M = TypeVar("M", bound=Message)


@dataclass
class Stack:
    """The processes, the job on them, and all that was said."""

    folder: Path
    server: Served
    store: Store
    client: Client
    nodes: LocalNodes
    services: "dict[Service, list[subprocess.Popen[bytes]]]" = field(default_factory=dict)
    said: dict[str, Message] = field(default_factory=dict)
    """By id, in the stream's order."""
    changed: Signal = field(default_factory=Signal)
    spec: JobSpec | None = None
    settings: dict[str, str] = field(default_factory=dict)
    """Variables that every service is given beside."""

    def start(self, service: Service) -> None:
        """Start one more instance of a service."""
        instances = self.services.setdefault(service, [])
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSTEP_")}
        environment |= {
            "KEEPSTEP_NATS_URL": self.server.url.get_secret_value(),
            "KEEPSTEP_POOL": POOL,
            "KEEPSTEP_STORE": self.store.url,
            "KEEPSTEP_CLUSTER": f"local:{self.folder / 'cluster'}",
            **self.settings,
        }
        with (self.folder / f"{service}.log").open("ab") as log:
            instances.append(
                subprocess.Popen(
                    [sys.executable, "-m", f"keepstep.{service.replace('-', '_')}"],
                    cwd=self.folder,
                    env=environment,
                    stdout=log,
                    stderr=log,
                    preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 - nothing but exec follows
                )
            )

    async def active(self, service: Service) -> int:
        """Return the process id of the active instance, 0 while there is none."""
        bucket = await self.client.js.key_value(names.leases_bucket(POOL))
        try:
            held = (await bucket.get(service)).value
        except KeyNotFoundError:
            return 0
        holder = int(held.split()[0].rpartition(b"-")[2]) if held else 0
        return holder if holder in self.pids(service) else 0

    async def all_active(self) -> None:
        """Return once every service has an active instance that lives."""
        async with asyncio.timeout(LIMIT_S):
            for service in Service:
                while not await self.active(service):  # noqa: ASYNC110 - a lease has no event
                    await asyncio.sleep(0.02)

    def pids(self, service: Service) -> list[int]:
        """Return the process ids of a service's instances."""
        return [process.pid for process in self.services.get(service, ()) if process.poll() is None]

    def kill(self, service: Service, pid: int) -> None:
        """SIGKILL one instance."""
        for process in self.services[service]:
            if process.pid == pid:
                process.kill()
                process.wait()

    async def kill_server(self) -> None:
        """SIGKILL the bus."""
        os.kill(self.server.pid, signal.SIGKILL)
        while self.server.pid:  # noqa: ASYNC110 - until it is reaped
            await asyncio.sleep(0.002)

    def kill_store(self) -> None:
        """SIGKILL the store."""
        assert self.store.process is not None
        self.store.process.kill()
        self.store.process.wait()

    def everything_but_ranks(self) -> list[int]:
        """Return the process ids of bus, store, services, nodes, agents and launchers."""
        store = [] if self.store.process is None else [self.store.process.pid]
        services = [pid for service in Service for pid in self.pids(service)]
        ranks = {slot.pid for slot in self.slots().values()}
        return [self.server.pid, *store, *services, *(pid for pid in self._of_nodes() if pid not in ranks)]

    def _of_nodes(self) -> Iterator[int]:
        mark = str(self.folder / "cluster").encode()
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (entry / "cmdline").read_bytes():
                    yield int(entry.name)

    async def create(self, spec: JobSpec) -> None:
        """Create the job and wait until every rank steps."""
        self.spec = spec
        now = datetime.now(UTC)
        await self.client.say(CreateJob(id=EventId("create"), time=now, pool=POOL, job=JOB, spec=spec))
        await self.stepping(1)

    def slots(self) -> dict[int, Slot]:
        """Return each rank's newest life: the highest generation that any page has for it."""
        assert self.spec is not None
        newest: dict[int, Slot] = {}
        for path in (self.folder / "cluster").glob("nodes/*/tasks/*/progress"):
            with contextlib.suppress(OSError, ValueError):
                index = json.loads((path.parent / "task.json").read_text())["task"]["index"]
                page = Page(str(path))
                for local in range(page.slots):
                    rank, slot = index * self.spec.nproc + local, page.read(local)
                    if slot.pid and (rank not in newest or slot.generation >= newest[rank].generation):
                        newest[rank] = slot
                page.close()
        return newest

    def generation(self) -> int:
        """Return the newest generation of any rank."""
        return max((slot.generation for slot in self.slots().values()), default=0)

    async def stepping(self, generation: int) -> None:
        """Return once every rank made three steps in this generation."""
        assert self.spec is not None
        seen: dict[int, Slot] = {}
        try:
            async with asyncio.timeout(LIMIT_S):
                while True:
                    seen = {r: s for r, s in self.slots().items() if s.generation == generation and s.marks >= 3}
                    if len(seen) == self.spec.world_size:
                        return
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"generation {generation}: only {seen} step\n{self.told()}") from None

    def kill_rank(self, rank: int) -> None:
        """SIGKILL a rank."""
        os.kill(self.slots()[rank].pid, signal.SIGKILL)

    async def listen(self) -> None:
        """Hear everything, over every outage."""
        async for heard in self.client.follow():
            if heard.message is not None and heard.message.id not in self.said:
                self.said[heard.message.id] = heard.message
                self.changed.ring()

    def all(self, kind: type[M]) -> list[M]:
        """Return the messages of a type."""
        return [message for message in self.said.values() if isinstance(message, kind)]

    async def until(self, condition: Callable[[], object], what: str, *, within: float = LIMIT_S) -> None:
        """Return once the condition on what was said holds."""
        try:
            async with asyncio.timeout(within):
                while not condition():
                    await self.changed.changed()
        except TimeoutError:
            raise AssertionError(f"{what}: not within {within:g} s\n{self.told()}") from None

    def told(self) -> str:
        """Return the last messages, for people."""
        return "\n".join(
            f"{m.time:%H:%M:%S.%f} {type(m).__name__} {m.generation} {getattr(m, 'because', '')}"
            for m in list(self.said.values())[-40:]
        )


@asynccontextmanager
async def stacked(folder: Path, *, nodes: int = 2, settings: Mapping[str, str] = NONE_BESIDE) -> AsyncIterator[Stack]:
    """Run a stack until the block ends; nothing of it is left. ``settings``: variables that services get beside."""
    if shutil.which("redis-server") is None:
        raise AssertionError("the system tests need redis-server")
    server, store = Served(folder / "nats"), Store(folder)
    async with AsyncExitStack() as cleaning:
        await server.start()
        cleaning.push_async_callback(server.stop)
        store.start()
        cleaning.callback(_end, store)
        client = await Client.open(server.url.get_secret_value(), POOL, name="test")
        cleaning.push_async_callback(client.close)
        await client.provision()
        local = LocalNodes(
            folder / "cluster", env={"KEEPSTEP_NATS_URL": server.url.get_secret_value(), "KEEPSTEP_POOL": POOL}
        )
        cleaning.callback(local.stop_all)
        local.start_all([f"n{number}" for number in range(1, nodes + 1)])
        stack = Stack(folder, server, store, client, local, settings=dict(settings))
        cleaning.callback(_end_services, stack)
        for service in Service:
            stack.start(service)
        listening = asyncio.create_task(stack.listen())
        cleaning.callback(listening.cancel)
        await stack.all_active()
        yield stack


def _end(store: Store) -> None:
    if store.process is not None:
        store.process.kill()
        store.process.wait()


def _end_services(stack: Stack) -> None:
    for instances in stack.services.values():
        for process in instances:
            process.kill()
            process.wait()
