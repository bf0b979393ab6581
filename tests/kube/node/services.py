"""keepstep on a test cluster: a bus, its store and the six services as one process beside it, and all that is said.

``async with keepstep_on(k) as s``: then ``await s.create(job)`` injects and creates a user's manifest, ``s.until``
waits for what was said, ``s.slots(job)`` are the ranks as their progress pages show them.
"""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import SecretStr

from keepstep.cli.stack import builds
from keepstep.contracts.events import NotificationDelivered
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer, dying_with
from keepstep.runtime.service import Health, run
from keepstep.runtime.settings import Settings
from keepstep.trainer.progress import Page, Slot
from tests.kube.server.objects import Obj
from tests.pipeline.stream import Signal

from .images import ROOT, SOURCES
from .stack import KubeStack

POOL = Pool("cluster")
LIMIT_S = 150.0
"""Ten times what a quiet machine takes."""

M = TypeVar("M", bound=Message)


@dataclass
class Keepstep:
    """A bus, the services as one process, and all that was said."""

    k: KubeStack
    bus: SecretStr
    """Where agents find it."""
    client: Client
    process: "subprocess.Popen[bytes] | None" = None
    said: dict[str, Message] = field(default_factory=dict)
    """By id, in the stream's order."""
    changed: Signal = field(default_factory=Signal)

    @property
    def log(self) -> Path:
        """Return the file that the services write to."""
        return self.k.folder / "services.log"

    def start(self) -> None:
        """Start the six services."""
        self._ready.unlink(missing_ok=True)
        told = environment() | {
            "KEEPSTEP_NATS_URL": self.bus.get_secret_value(),
            "KEEPSTEP_POOL": POOL,
            "KEEPSTEP_CLUSTER": f"kubernetes:{self.k.kubeconfig}",
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.kube.node.services", str(self._ready)],
                env=told,
                stdout=log,
                stderr=log,
                preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 - nothing but exec follows
            )

    def kill(self) -> None:
        """SIGKILL the six services."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    async def ready(self) -> None:
        """Return once every service is active."""
        async with asyncio.timeout(LIMIT_S):
            while not self._ready.exists():
                if self.process is None or self.process.poll() is not None:
                    raise AssertionError(f"the services do not start\n{self.told()}")
                await asyncio.sleep(0.05)

    async def lend_bus(self) -> None:
        """Put the bus's address where pods of jobs look for it."""
        url = base64.b64encode(self.bus.get_secret_value().encode()).decode()
        named = {"name": "bus-agent", "namespace": "default"}
        await self.k.apply({"apiVersion": "v1", "kind": "Secret", "metadata": named, "data": {"url": url}})

    async def create(self, *job: Obj, options: Sequence[str] = ()) -> Obj:
        """Make a user's manifests fault-tolerant with ``keepstep job inject`` and create them; return the last."""
        await self.lend_bus()
        words = ["job", "inject", "-f", "-", "--pool", self.client.pool, "--cluster"]
        command = [sys.executable, "-m", "keepstep.cli", *words, f"kubernetes:{self.k.kubeconfig}", *options]
        child = await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        out, told = await child.communicate(yaml.safe_dump_all(job).encode())
        assert child.returncode == 0, told.decode()
        stored = [await self.k.apply(document) for document in yaml.safe_load_all(out)]
        return stored[-1]

    def pages(self, job: str) -> Iterator[tuple[Obj, Path]]:
        """Yield the job's pods that are on a node, each with the folder of its task."""
        for pod in self.k.pods(job):
            run = self.k.kubelet.runs.get(pod["metadata"]["uid"])
            if run is not None:
                yield pod, run.folder / "volumes" / "keepstep" / "task"

    def ranks(self, job: str) -> Iterator[tuple[Obj, int, Slot]]:
        """Yield each rank that was started in a pod that is on a node, with what the pod's page shows of it."""
        for pod, folder in self.pages(job):
            with suppress(OSError, ValueError, KeyError):
                task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
                page = Page(str(folder / "progress"))
                slots = [page.read(local) for local in range(page.slots)]
                page.close()
                first = task["task"]["index"] * len(slots)
                yield from ((pod, first + local, slot) for local, slot in enumerate(slots) if slot.pid)

    def slots(self, job: str) -> dict[int, Slot]:
        """Return each rank's newest life."""
        newest: dict[int, Slot] = {}
        for _, rank, slot in self.ranks(job):
            if rank not in newest or slot.generation >= newest[rank].generation:
                newest[rank] = slot
        return newest

    async def stepping(self, job: str, ranks: int, generation: int | None) -> None:
        """Return once every rank made three steps in this generation."""

        def step() -> bool:
            slots = self.slots(job).values()
            return sum(slot.generation == generation and slot.marks >= 3 for slot in slots) == ranks

        try:
            await self.k.until(step, LIMIT_S)
        except TimeoutError as late:
            raise AssertionError(f"generation {generation}: only {self.slots(job)}\n{late}\n{self.told()}") from None

    def kill_rank(self, job: str, rank: int) -> None:
        """SIGKILL a rank: its pid on the page is one of its own pod's namespace, and another's in every other pod."""
        lives = [(slot, pod) for pod, number, slot in self.ranks(job) if number == rank]
        slot, pod = max(lives, key=lambda life: life[0].generation)
        for pid in self.k.processes(pod):
            if _inner(pid) == slot.pid and b"train" in _words(pid):
                os.kill(pid, signal.SIGKILL)
                return
        raise AssertionError(f"rank {rank} ({slot}) is no process of {pod['metadata']['name']}")

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
        """Return the pods, the last messages and the end of the services' log, for people."""
        told = [m for m in self.said.values() if not isinstance(m, NotificationDelivered)]
        lines = [
            f"{m.time:%H:%M:%S.%f} {type(m).__name__} {m.generation} {getattr(m, 'because', '')}" for m in told[-40:]
        ]
        log = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:] if self.log.exists() else []
        return "\n".join([self.k.told(), *lines, *(line[:300] for line in log)])

    @property
    def _ready(self) -> Path:
        return self.k.folder / "services.ready"


@asynccontextmanager
async def keepstep_on(k: KubeStack, *, services: bool = True) -> AsyncIterator[Keepstep]:
    """Run keepstep on the cluster for the block; without services there is only the bus."""
    async with AsyncExitStack() as cleaning:
        server = NatsServer(k.folder / "nats")
        await server.start()
        cleaning.push_async_callback(server.stop)
        client = await Client.open(server.url.get_secret_value(), POOL, name="test")
        cleaning.push_async_callback(client.close)
        await client.provision()
        stack = Keepstep(k, server.url, client)
        cleaning.callback(stack.kill)
        listening = asyncio.create_task(stack.listen())
        cleaning.callback(listening.cancel)
        if services:
            stack.start()
            await stack.ready()
        yield stack


def environment() -> dict[str, str]:
    """Return the variables of a process of ours: this tree's keepstep, and nothing that people have set."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSTEP_")}
    return {**ours, "PYTHONPATH": os.pathsep.join([*SOURCES, str(ROOT)])}


def _inner(pid: int) -> int:
    """Return the pid that a process has in its own namespace, 0 if it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return 0


def _words(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


async def _serve(announce: Callable[[], None]) -> None:
    settings, stop, health = Settings(), asyncio.Event(), Health()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    services = asyncio.create_task(run([build(settings) for build in builds()], settings, stop=stop, health=health))
    waiting = asyncio.ensure_future(health.wait_ready())
    await asyncio.wait({waiting, services}, return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        announce()
    await services


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]).touch))
