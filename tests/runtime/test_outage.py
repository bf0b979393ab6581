"""The bus dies, stays away and comes back: services neither freeze nor end, and what was said meanwhile arrives."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.client import Client as NatsConnection
from nats.errors import ConnectionClosedError

from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import PlanPhase
from keepstep.ports.errors import Transient
from keepstep.runtime import connection
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer
from tests.runtime.conftest import running, until_said
from tests.runtime.stages import Probe, report, until

POOL = Pool("outage")
JOB = JobUid("job-1")


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """Yield a server of the test's own, to be killed."""
    started = NatsServer(tmp_path)
    await started.start()
    yield started
    await started.stop()


@pytest_asyncio.fixture
async def mine(server: NatsServer) -> AsyncIterator[Client]:
    """Yield a participant on that server."""
    opened = await Client.open(server.url.get_secret_value(), POOL, name="test")
    await opened.provision()
    yield opened
    await opened.close()


async def test_a_killed_server_comes_back_and_nothing_is_lost(server: NatsServer, mine: Client) -> None:
    probe = Probe()
    async with running(probe.app(), server.url.get_secret_value(), POOL):
        await mine.say(report(POOL, "a"))
        await until_said(mine, "a")
        killed = server.pid
        os.kill(killed, signal.SIGKILL)
        await mine.say(report(POOL, "b"))
        await mine.say(report(POOL, "c"))
        await until(lambda: probe.decided[-1] == "c")
        await until_said(mine, "a", "b", "c")
        assert server.pid not in (0, killed)


@pytest.mark.parametrize("away_s", [2.0, pytest.param(120.0, marks=[pytest.mark.slow, pytest.mark.timeout(240)])])
async def test_a_server_that_was_gone_for_long_finds_its_services_again(
    tmp_path: Path, server: NatsServer, mine: Client, away_s: float
) -> None:
    probe = Probe()
    async with running(probe.app(), server.url.get_secret_value(), POOL) as health:
        await mine.say(report(POOL, "a"))
        await until_said(mine, "a")
        await server.stop()
        saying = asyncio.create_task(mine.say(report(POOL, "b")))
        await asyncio.sleep(away_s)
        assert not saying.done()
        await server.start()
        await asyncio.wait_for(saying, 10)
        async with asyncio.timeout(15):
            await health.wait_active()
        await until_said(mine, "a", "b")


async def test_who_could_say_nothing_for_hours_can_when_the_bus_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try beyond what the client keeps of an outage took one of its 4,000 places for ever, until none was left."""
    monkeypatch.setattr(connection, "PENDING_BYTES", 1024)
    server = NatsServer(tmp_path)
    mine = await Client.open((await server.start()).get_secret_value(), POOL, name="test")
    await mine.provision()
    await mine.say(report(POOL, "a"))
    await server.stop()
    await until(lambda: not mine.link.connected)
    async with asyncio.timeout(30):
        for number in range(4100):
            with pytest.raises(Transient):
                await mine.publish(report(POOL, f"b{number}", text="x" * 1024))
        await server.start()
        await mine.say(report(POOL, "c"))
    assert [said.message.id async for said in mine.read() if said.message] == ["a", "c"]
    await mine.close()
    await server.stop()


@pytest.mark.parametrize("error", [BrokenPipeError("broken"), ConnectionClosedError(), TimeoutError("late")])
async def test_hanging_up_on_a_line_that_broke_just_now_is_no_failure(
    mine: Client, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The client flushes as it closes; its error took the place of what the command had to say."""

    async def broken(_self: NatsConnection) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(NatsConnection, "close", broken)
        await mine.close()


async def test_a_service_can_be_stopped_while_the_bus_is_away(server: NatsServer, mine: Client) -> None:
    async with asyncio.timeout(15), running(Probe().app(), server.url.get_secret_value(), POOL):
        await server.stop()
        await until(lambda: not mine.link.connected)
    assert not [task for task in asyncio.all_tasks() if "lane" in task.get_name() or "effect" in task.get_name()]


async def test_a_watch_of_a_plan_survives_the_server(server: NatsServer, mine: Client) -> None:
    seen: list[PlanHead] = []

    async def watch() -> None:
        async for found in mine.plans.watch(JOB):
            seen.append(found)  # noqa: PERF401 - it never ends

    watching = asyncio.create_task(watch())
    await mine.plans.publish(head(1))
    await until(lambda: [found.generation for found in seen] == [1])
    os.kill(server.pid, signal.SIGKILL)
    await until(lambda: mine.link.recoveries == 1)
    await mine.plans.publish(head(2, PlanPhase.STOP), [entry(2)])
    await until(lambda: seen[-1].generation == 2)
    watching.cancel()


def head(generation: int, phase: PlanPhase = PlanPhase.RUN) -> PlanHead:
    return PlanHead(job=JOB, generation=generation, phase=phase, world_size=2)


def entry(generation: int) -> PlanEntry:
    return PlanEntry(job=JOB, task=TaskUid("t1"), node=NodeName("n1"), generation=generation, ranks=(0, 1))
