"""Two pools with a hundred light agents each on one server: one decision per incident, none across.

The agents are scripted (tests/pipeline/cluster.py) and speak the real subjects; names of jobs and nodes are the same
in both pools, so that whatever crosses over finds somebody to hurt.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from pydantic import SecretStr

from keepstep.adapters.clock import SystemClock
from keepstep.checkpoint_manager.app import build as checkpoint_manager
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, JobUid, Pool
from keepstep.contracts.message import Message
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.policy import DetectionPolicy, Policy
from keepstep.contracts.taxonomy import Level, LossCause, Outcome, Service
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import JobRef, JobSpec, Script
from keepstep.detector.app import build as detector
from keepstep.diagnoser.app import build as diagnoser
from keepstep.isolator.app import isolator_stage
from keepstep.isolator.hand import Hand
from keepstep.notifier.app import build as notifier
from keepstep.runtime.app import App
from keepstep.runtime.client import Client
from keepstep.runtime.pace import Pace
from keepstep.runtime.settings import Settings
from keepstep.scheduler_adapter.app import assemble
from keepstep.scheduler_adapter.settings import Settings as SchedulerSettings
from tests.active import active
from tests.pipeline.cluster import MemoryCluster
from tests.pipeline.stream import Signal

pytestmark = pytest.mark.system

AGENTS = 100
SPARE = 5
DETECTION = DetectionPolicy(loss_window=timedelta(seconds=4))
"""A window of four heartbeats: the shortest of which the blindness margin of two leaves something."""
M = TypeVar("M", bound=Message)


@dataclass
class PoolOfJobs:
    """One pool as its people see it: the jobs, the agents, and all that was said so far."""

    pool: Pool
    client: Client
    cluster: MemoryCluster = field(init=False)
    said: list[Message] = field(default_factory=list)
    changed: Signal = field(default_factory=Signal)
    outbox: "asyncio.Queue[Message]" = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        nodes = [f"n{number}" for number in range(AGENTS + SPARE)]
        self.cluster = MemoryCluster(self, self.client.plans, self.client.telemetry, *nodes, clock=SystemClock())

    def publish(self, message: Message) -> None:
        """Take what an agent saw."""
        self.outbox.put_nowait(message)

    async def speak(self) -> None:
        """Say what agents saw, in their order."""
        while True:
            await self.client.say(await self.outbox.get())

    async def listen(self) -> None:
        """Hear everything the pool says."""
        async for heard in self.client.follow():
            if heard.message is not None:
                self.said.append(heard.message)
                self.changed.ring()

    def all(self, kind: type[M], job: str | None = None) -> list[M]:
        """Return the messages of a type, of one job or all."""
        return [m for m in self.said if isinstance(m, kind) and (job is None or (m.job and m.job.uid == job))]

    async def until(self, condition: Callable[[], bool], *, within: float = 60.0) -> None:
        """Return once the condition holds; fails when it takes too long or an agent found something wrong."""
        async with asyncio.timeout(within):
            while not condition():
                assert self.cluster.failures == []
                await self.changed.changed()

    async def create(self, jobs: int) -> None:
        """Create jobs that share the hundred agents evenly, and wait until all of them step."""
        for number in range(jobs):
            job = JobRef(name=f"job-{number}", uid=JobUid(f"job-{number}"))
            policy = Policy(detection=DETECTION, notification=NotificationPolicy(routes=()))
            spec = JobSpec(name=job.name, entrypoint=Script(path="/t.py"), nodes=AGENTS // jobs, policy=policy)
            order = CreateJob(
                id=EventId(f"create-{number}"), time=datetime.now(UTC), pool=self.pool, job=job, spec=spec
            )
            self.publish(order)
        await self.until(lambda: len(self.all(e.FirstStepDone)) == AGENTS)

    def kill(self, rank: int, job: str) -> None:
        """SIGKILL one rank."""
        self.cluster.agent_of(rank, JobUid(job)).end_rank(rank, Exit(signal=9))

    def expect_one_recovery(self, job: str, *, level: Level) -> None:
        """One incident of the job, one decision at each stage, resumed."""
        for kind in (e.IncidentOpened, e.FaultDiagnosed, e.CheckpointChosen, e.RecoveryPlanned, e.RecoveryStarted):
            assert len(self.all(kind, job)) == 1, kind
        assert len(self.all(e.NodeIsolated, job)) + len(self.all(e.IsolationDeclined, job)) == 1
        assert [each.level for each in self.all(e.JobResumed, job)] == [level]
        assert [each.outcome for each in self.all(e.IncidentClosed, job)] == [Outcome.RESUMED]

    def expect_undisturbed(self, *jobs: str) -> None:
        """Nothing happened to these jobs; and nothing here is of another pool."""
        assert [m for m in self.said if m.pool != self.pool] == []
        for job in jobs:
            assert self.all(e.IncidentOpened, job) == []
            assert {generation for uid, _, generation in self.cluster.starts if uid == job} == {1}


@asynccontextmanager
async def serving(url: str, pool: Pool) -> AsyncIterator[PoolOfJobs]:
    """Run the six services of a pool in this process, and its agents."""
    async with AsyncExitStack() as stack:
        client = await Client.open(url, pool, name=f"agents of {pool}")
        stack.push_async_callback(client.close)
        await client.provision()
        watched = PoolOfJobs(pool, client)
        settings = Settings(nats_url=SecretStr(url), pool=pool, instance="one")
        services = active(apps_of(settings, watched.cluster), settings, pace=Pace(), within=20)
        own = [asyncio.create_task(watched.speak()), asyncio.create_task(watched.listen())]
        async with services:
            try:
                yield watched
            finally:
                for task in (*own, *(work for agent in watched.cluster.agents.values() for work in agent.work)):
                    task.cancel()
    assert watched.cluster.failures == []


def apps_of(settings: Settings, cluster: MemoryCluster) -> list[App[Any]]:
    """Return the six services on a cluster in memory."""
    isolator = App(
        service=Service.ISOLATOR,
        stage=lambda context: isolator_stage(Hand(cluster, context.clock, tend_every=timedelta(seconds=1))),
    )
    built = [build(settings) for build in (detector, diagnoser, checkpoint_manager, notifier)]
    return [*built, isolator, assemble(cluster, SchedulerSettings())]


@pytest.fixture
async def pools(nats_url: str, pool: Pool) -> AsyncIterator[tuple[PoolOfJobs, PoolOfJobs]]:
    """One job of a hundred tasks in one pool, ten jobs of ten in the other."""
    async with serving(nats_url, Pool(f"{pool}-a")) as one, serving(nats_url, Pool(f"{pool}-b")) as ten:
        await asyncio.gather(one.create(jobs=1), ten.create(jobs=10))
        yield one, ten
        for each in (one, ten):
            for stream in await each.client.js.streams_info():
                if each.pool in (stream.config.name or ""):
                    await each.client.js.delete_stream(stream.config.name or "")


async def test_each_incident_is_decided_once_and_in_its_own_pool(pools: tuple[PoolOfJobs, PoolOfJobs]) -> None:
    one, ten = pools
    one.kill(99, "job-0")
    ten.kill(3, "job-0")
    ten.cluster.agent_of(4, JobUid("job-3")).die(LossCause.DELETED)
    lost = ten.cluster.agent_of(5, JobUid("job-7")).node
    ten.cluster.lose(lost)
    await one.until(lambda: len(one.all(e.IncidentClosed)) == 1)
    await ten.until(lambda: len(ten.all(e.IncidentClosed)) == 3)
    one.expect_one_recovery("job-0", level=Level.IN_PLACE)
    ten.expect_one_recovery("job-0", level=Level.IN_PLACE)
    ten.expect_one_recovery("job-3", level=Level.POD)
    ten.expect_one_recovery("job-7", level=Level.POD)
    ten.expect_undisturbed(*(f"job-{number}" for number in (1, 2, 4, 5, 6, 8, 9)))
    one.expect_undisturbed()
    assert (one.cluster.marked(), ten.cluster.marked()) == (set(), {lost})


async def test_a_third_of_all_agents_silent_at_once_blinds_one_pool_alone(
    pools: tuple[PoolOfJobs, PoolOfJobs],
) -> None:
    one, ten = pools
    muted = one.cluster.live()[: int(0.35 * AGENTS)]
    for agent in muted:
        agent.mute = True
    dumb = ten.cluster.agent_of(2, JobUid("job-4"))
    dumb.mute = True
    await one.until(lambda: bool(one.all(e.DetectorBlinded)))
    await ten.until(lambda: bool(ten.all(e.FaultDetected)))
    for agent in (*muted, dumb):
        agent.mute = False
    await one.until(lambda: bool(one.all(e.DetectorSighted)))
    [blinded] = one.all(e.DetectorBlinded)
    assert (blinded.silent, blinded.total) == (len(muted), AGENTS)
    assert one.all(e.FaultDetected) == []
    one.expect_undisturbed("job-0")
    assert [fault.task for fault in ten.all(e.FaultDetected)] == [dumb.launch.task.uid]
    await ten.until(lambda: bool(ten.all(e.IncidentClosed)))
    assert ten.all(e.DetectorBlinded) == []
    ten.expect_undisturbed(*(f"job-{number}" for number in range(10) if number != 4))
    assert one.cluster.marked() == set()
