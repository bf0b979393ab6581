"""Six services, each under its own user, take a job through two faults: what they need is granted.

The agents are scripted (tests/pipeline/cluster.py) and share one user; a person has another.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, JobUid, Pool
from keepstep.contracts.message import Message, Order
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.orders import AckIncident, CreateJob
from keepstep.contracts.policy import Policy
from keepstep.contracts.subjects import AGENT, PEOPLE
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import JobRef, JobSpec, Script
from keepstep.runtime.client import Client
from keepstep.runtime.pace import Pace
from keepstep.runtime.rights import all_rights
from keepstep.runtime.settings import Settings
from tests.active import active
from tests.pipeline.cluster import MemoryCluster
from tests.rights.guarded import guarded
from tests.system.test_pools import PoolOfJobs, apps_of

pytestmark = pytest.mark.system

POOL = Pool("default")
JOB = JobRef(name="job-1", uid=JobUid("job-1"))
RIGHTS = all_rights(POOL)


class GuardedPool(PoolOfJobs):
    """A pool whose agents and people have users of their own."""

    people: Client

    async def speak(self) -> None:
        """Say what agents saw and what people want, each on its own connection."""
        while True:
            message: Message = await self.outbox.get()
            await (self.people if isinstance(message, Order) else self.client).say(message)

    async def listen(self) -> None:
        """Hear everything, as people may and agents may not."""
        async for heard in self.people.follow():
            if heard.message is not None:
                self.said.append(heard.message)
                self.changed.ring()


@pytest.fixture
async def pool_of_jobs(tmp_path: Path) -> AsyncIterator[GuardedPool]:
    """The six services, four nodes, and afterwards a look for whatever the server refused."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(guarded(tmp_path, RIGHTS))
        clients = []
        for user in (AGENT, PEOPLE):
            clients.append(await Client.open(server.url(user).get_secret_value(), POOL, name=user))
            stack.push_async_callback(clients[-1].close)
        watched = GuardedPool(POOL, clients[0])
        watched.people = clients[1]
        nodes = [f"n{number}" for number in range(4)]
        watched.cluster = MemoryCluster(watched, clients[0].plans, clients[0].telemetry, *nodes, clock=SystemClock())
        for app in apps_of(Settings(pool=POOL), watched.cluster):
            settings = Settings(nats_url=server.url(app.service), pool=POOL, instance="one")
            await stack.enter_async_context(active([app], settings, pace=Pace(), within=20))
        own = [asyncio.create_task(watched.speak()), asyncio.create_task(watched.listen())]
        try:
            yield watched
        finally:
            for task in (*own, *(work for agent in watched.cluster.agents.values() for work in agent.work)):
                task.cancel()
    refused = [line for line in (tmp_path / "nats.log").read_text(encoding="utf-8").splitlines() if "iolation" in line]
    assert refused == []


async def test_a_job_goes_through_two_faults_and_nothing_of_it_is_refused(pool_of_jobs: GuardedPool) -> None:
    pool = pool_of_jobs
    policy = Policy(notification=NotificationPolicy(routes=()))
    spec = JobSpec(name=JOB.name, entrypoint=Script(path="/t.py"), nodes=2, policy=policy)
    pool.publish(CreateJob(id=EventId("create"), time=datetime.now(UTC), pool=POOL, job=JOB, spec=spec))
    await pool.until(lambda: len(pool.all(e.FirstStepDone)) == 2)
    pool.cluster.agent_of(1, JOB.uid).end_rank(1, Exit(signal=9))
    await pool.until(lambda: len(pool.all(e.IncidentClosed)) == 1)
    pool.cluster.lose(pool.cluster.agent_of(1, JOB.uid).node)
    await pool.until(lambda: len(pool.all(e.IncidentClosed)) == 2)
    [*_, opened] = pool.all(e.IncidentOpened)
    pool.publish(AckIncident(id=EventId("ack"), time=datetime.now(UTC), pool=POOL, job=JOB, incident=opened.incident))
    assert len(pool.all(e.JobResumed)) == 2
    assert len(pool.all(e.NodeIsolated)) == 1
    assert await pool.people.dead_letters.list() == ()
