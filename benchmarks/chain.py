"""One killed rank through all six services on a real server: milliseconds per hop, and what CPU time it takes.

Run ``python -m benchmarks.chain [--kills 30] [--store memory] [--profile]``. The services share one process and keep
their folds in memory, as in a run of one machine; the agents are scripted, so that no kernel tears down memory and
no rank competes for the cores: what is left is the services' own share of a recovery. CPU time is that of this process,
in which the scripted agents run as well, without the server's. ``--profile`` tells where it goes.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from tests.pipeline.cluster import MemoryCluster

from benchmarks import measuring
from benchmarks.recovery import HOPS, restart
from benchmarks.sampling import sampled
from benchmarks.stream import Event
from keepstep.adapters.clock import SystemClock
from keepstep.checkpoint_manager.app import build as checkpoint_manager
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, JobUid, Pool
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.policy import Budget, Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import Service
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import JobRef, JobSpec, Script
from keepstep.detector.app import build as detector
from keepstep.diagnoser.app import build as diagnoser
from keepstep.isolator.app import isolator_stage
from keepstep.isolator.hand import Hand
from keepstep.notifier.app import build as notifier
from keepstep.runtime import log
from keepstep.runtime.app import App
from keepstep.runtime.client import Client
from keepstep.runtime.http import Health
from keepstep.runtime.nats_server import NatsServer
from keepstep.runtime.service import run
from keepstep.runtime.settings import Settings
from keepstep.scheduler_adapter.app import assemble
from keepstep.scheduler_adapter.settings import Settings as SchedulerSettings

TASKS, RANKS = 2, 2
LIMIT_S = 30.0
UNSPENT = Budget(count=sys.maxsize)
"""A job of which every rank may be killed as often as it takes."""


@dataclass
class Bench:
    """One pool: its connection, its scripted agents, and what it said since the last kill."""

    client: Client
    cluster: MemoryCluster = field(init=False)
    said: list[Event] = field(default_factory=list)
    outbox: "asyncio.Queue[Message]" = field(default_factory=asyncio.Queue)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    spent: dict[type[Message], float] = field(default_factory=dict)
    """CPU time of this process when the first message of a kind was heard."""

    def __post_init__(self) -> None:
        nodes = [f"n{number}" for number in range(TASKS)]
        self.cluster = MemoryCluster(self, self.client.plans, self.client.telemetry, *nodes, clock=SystemClock())

    def publish(self, message: Message) -> None:
        """Take what an agent saw."""
        self.outbox.put_nowait(message)

    async def speak(self) -> None:
        """Say what agents saw, in their order."""
        while True:
            await self.client.say(await self.outbox.get())

    async def listen(self) -> None:
        """Hear everything, as the screen of a run does."""
        async for heard in self.client.follow():
            if heard.message is not None:
                self.spent.setdefault(type(heard.message), time.process_time())
                self.said.append(Event(heard.message, heard.time.timestamp()))
                self.changed.set()

    async def until(self, kind: type[Message], count: int = 1) -> None:
        """Return when so many messages of a kind were said since the last kill; raises TimeoutError."""
        async with asyncio.timeout(LIMIT_S):
            while sum(isinstance(event.message, kind) for event in self.said) < count:
                await self.changed.wait()
                self.changed.clear()

    async def create(self) -> None:
        """Create the job and wait until all of it steps."""
        job = JobRef(name="chain", uid=JobUid("chain"))
        recovery = RecoveryPolicy(crash=UNSPENT, unknown=UNSPENT)
        spec = JobSpec(
            name=job.name,
            entrypoint=Script(path="/train.py"),
            nodes=TASKS,
            nproc=RANKS,
            policy=Policy(recovery=recovery),
        )
        now = datetime.now(UTC)
        self.publish(CreateJob(id=EventId("create"), time=now, pool=self.client.pool, job=job, spec=spec))
        await self.until(e.FirstStepDone, TASKS)

    async def kill(self, rank: int) -> tuple[float, float]:
        """Kill a rank; return when (seconds of the wall clock) and the CPU seconds until RecoveryStarted was heard."""
        self.said.clear()
        self.spent.clear()
        began, killed = time.process_time(), time.time()
        self.cluster.agent_of(rank).end_rank(rank, Exit(signal=9))
        await self.until(e.IncidentClosed)
        return killed, self.spent[e.RecoveryStarted] - began


@asynccontextmanager
async def serving(store: str) -> AsyncIterator[Bench]:
    """Run a server, the six services and the agents of a job that steps."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keepstep-bench-")))
        log.configure(out=stack.enter_context((folder / "services.log").open("w", buffering=1)))
        server = NatsServer(folder / "nats", outlives_machine=False)
        url = await server.start()
        stack.push_async_callback(server.stop)
        settings = Settings(nats_url=url, pool=Pool("chain"), store=SecretStr(store))
        client = await Client.open(url.get_secret_value(), settings.pool, name="agents")
        stack.push_async_callback(client.close)
        await client.provision()
        bench = Bench(client)
        stop, health = asyncio.Event(), Health()
        services = asyncio.create_task(run(apps(settings, bench.cluster), settings, stop=stop, health=health))
        own = [asyncio.create_task(bench.speak()), asyncio.create_task(bench.listen())]
        await health.wait_active()
        await bench.create()
        yield bench
        for task in (*own, *(work for agent in bench.cluster.agents.values() for work in agent.work)):
            task.cancel()
        stop.set()
        await services


def apps(settings: Settings, cluster: MemoryCluster) -> list[App[Any]]:
    """Return the six services as they are, on a cluster in memory."""
    isolator = App(
        service=Service.ISOLATOR,
        stage=lambda context: isolator_stage(Hand(cluster, context.clock, tend_every=timedelta(seconds=1))),
    )
    built = [build(settings) for build in (detector, diagnoser, checkpoint_manager, notifier)]
    return [*built, isolator, assemble(cluster, SchedulerSettings())]


async def main(kills: int, store: str, *, profile: bool) -> None:
    """Print the table."""
    restarts, spent, counts = [], [], []
    async with serving(store) as bench:
        await bench.kill(0)
        with sampled() if profile else nullcontext() as samples:
            for number in range(kills):
                killed, seconds = await bench.kill(number % (TASKS * RANKS))
                restarts.append(restart(bench.said, killed, cold=False))
                spent.append(1000 * seconds)
                counts.append(float(len(bench.said)))
    measuring.begin(__doc__, also=f"; folds in {store}")
    for hop in HOPS:
        figures = [1000 * each.hops[hop.name] for each in restarts if hop.name in each.hops]
        print(measuring.row(f"kill -> {hop.name}", figures, unit="ms", digits=1))
    decided = [1000 * each.decision_s for each in restarts]
    print(measuring.row("FaultDetected -> RecoveryStarted, settling apart", decided, unit="ms", digits=1))
    print(measuring.row("CPU time, kill -> RecoveryStarted", spent, unit="ms", digits=1))
    print(measuring.row("messages of one incident", counts, unit="", digits=0))
    if samples is not None:
        samples.print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--store", default="memory", help="memory, nats or a Redis URL")
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.kills, arguments.store, profile=arguments.profile))
