"""Agent, launcher and ranks as processes, on a real bus."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from keepstep.contracts.duration import seconds
from keepstep.contracts.events import FirstStepDone, LogMatched, PlanApplied, RankExited, RankStalled, TaskJoined
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.contracts.policy import DetectionPolicy, LogPattern, Policy, TrainerPolicy
from keepstep.contracts.taxonomy import Applied, PlanPhase
from keepstep.contracts.telemetry import Exit, Heartbeat
from keepstep.contracts.topology import Script
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import NatsServer
from tests.agent.makers import NODE, entry, head, launch, until

pytestmark = pytest.mark.system

M = TypeVar("M", bound=Message)

SCRIPT = """\
import os, sys, time
from keepstep import trainer

start = int(os.environ["KEEPSTEP_RESUME_STEP"] or 0)
for number in range(start + 1, start + 10_000):
    time.sleep(0.02)
    trainer.step(number)
    if number == 3:
        print("Loss nan", flush=True)
"""

POLICY = Policy(
    detection=DetectionPolicy(
        heartbeat_every=seconds(0.1),
        stopped_after=seconds(0.5),
        log_patterns=(LogPattern(name="nan", regex="Loss nan"),),
    ),
    trainer=TrainerPolicy(warm_ranks=0, stop_grace=seconds(1)),
)


class Stage:
    """One task's processes and everything said on the bus."""

    def __init__(self, task_dir: Path, url: str, client: Client) -> None:
        self.task_dir = task_dir
        self.url = url
        self.client = client
        self.said: list[Message] = []
        self.beats: list[Heartbeat] = []

    async def follow(self) -> None:
        async for said in self.client.follow():
            if said.message is not None:
                self.said.append(said.message)

    async def hear(self) -> None:
        await self.client.telemetry.hear(self.beats.append)

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in self.said if isinstance(message, kind)]

    async def hears(self, kind: type[M], count: int = 1) -> M:
        await until(lambda: len(self.of(kind)) >= count)
        return self.of(kind)[count - 1]

    @asynccontextmanager
    async def process(self, module: str) -> AsyncIterator[asyncio.subprocess.Process]:
        environment = os.environ | {"KEEPSTEP_NATS_URL": self.url, "KEEPSTEP_NODE": NODE}
        with (self.task_dir / f"{module}.log").open("ab") as log:
            running = await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, "--dir", str(self.task_dir), env=environment, stdout=log, stderr=log
            )
        try:
            yield running
        finally:
            if running.returncode is None:
                running.terminate()
                await asyncio.wait_for(running.wait(), 10)


@pytest.fixture
async def stage(tmp_path: Path, nats_url: str, client: Client) -> AsyncIterator[Stage]:
    async with staged(tmp_path, nats_url, client) as stage:
        yield stage


@asynccontextmanager
async def staged(task_dir: Path, url: str, client: Client) -> AsyncIterator[Stage]:
    """Lay out one task of the client's pool and listen to the pool."""
    script = task_dir / "train.py"
    script.write_text(SCRIPT)
    given = launch(pool=client.pool, policy=POLICY, entrypoint=Script(path=str(script)), cwd=str(task_dir))
    (task_dir / "task.json").write_text(given.model_dump_json())
    stage = Stage(task_dir, url, client)
    listening = [asyncio.create_task(stage.follow()), asyncio.create_task(stage.hear())]
    yield stage
    for task in listening:
        task.cancel()
    await asyncio.wait(listening)


async def test_a_task_lives_through_kill_restart_and_end(stage: Stage) -> None:
    plans = stage.client.plans
    async with stage.process("keepstep.trainer.launch") as launcher, stage.process("keepstep.agent") as agent:
        await stage.hears(TaskJoined)
        await plans.publish(head(1), [entry(1)])
        await stage.hears(FirstStepDone)
        assert (await stage.hears(LogMatched)).line == "Loss nan"
        await until(lambda: stage.beats and len(stage.beats[-1].ranks) == 2)

        victim = stage.beats[-1].ranks[1]
        os.kill(victim.pid, signal.SIGKILL)
        exited = await stage.hears(RankExited)
        assert (exited.rank, exited.exit, exited.ordered) == (3, Exit(signal=9), False)
        assert (exited.step or 0) >= (victim.step or 1)

        await plans.publish(head(2, PlanPhase.STOP))
        assert (await stage.hears(PlanApplied, 2)).applied is Applied.STOPPED
        await plans.publish(head(2, resume_step=100, resume_path="/nowhere"), [entry(2)])
        second = await stage.hears(FirstStepDone, 2)
        assert second.generation == 2
        assert 101 <= (second.step or 0) < 150

        await plans.publish(head(2, PlanPhase.END))
        assert await asyncio.wait_for(agent.wait(), 10) == 0
        assert await asyncio.wait_for(launcher.wait(), 10) == 0
    assert [said.applied.value for said in stage.of(PlanApplied)] == ["started", "stopped", "started", "ended"]


async def test_training_goes_on_without_its_agent_and_nothing_is_missed(stage: Stage) -> None:
    async with stage.process("keepstep.trainer.launch"):
        async with stage.process("keepstep.agent") as agent:
            await stage.hears(TaskJoined)
            await stage.client.plans.publish(head(1), [entry(1)])
            await stage.hears(FirstStepDone)
            await until(lambda: stage.beats and len(stage.beats[-1].ranks) == 2)
            agent.kill()
            await agent.wait()
        last, killed = stage.beats[-1].ranks[0], stage.beats[-1].ranks[1]
        os.kill(killed.pid, signal.SIGKILL)
        async with stage.process("keepstep.agent"):
            exited = await stage.hears(RankExited)
            assert exited.pid == killed.pid
            assert (await stage.hears(TaskJoined, 2)).applied == 1
            await until(lambda: stage.beats[-1].boot == "2" and stage.beats[-1].ranks[0].step != last.step)
            assert stage.beats[-1].ranks[0].pid == last.pid

            os.kill(last.pid, signal.SIGSTOP)
            assert (await stage.hears(RankStalled)).rank == last.rank
    assert len(stage.of(RankExited)) == 1
    assert len(stage.of(FirstStepDone)) == 1


async def test_an_outage_of_the_bus_stops_no_rank_and_loses_no_exit(tmp_path: Path, pool: Pool) -> None:
    server = NatsServer(tmp_path / "nats")
    url = (await server.start()).get_secret_value()
    client = await Client.open(url, pool, name="test")
    await client.provision()
    async with staged(tmp_path, url, client) as stage, stage.process("keepstep.trainer.launch"):
        async with stage.process("keepstep.agent"):
            await client.plans.publish(head(1), [entry(1)])
            await stage.hears(FirstStepDone)
            await until(lambda: stage.beats and len(stage.beats[-1].ranks) == 2)
            survivor, victim = stage.beats[-1].ranks
            await server.stop()
            os.kill(victim.pid, signal.SIGKILL)
            kept = tmp_path / "agent" / "outbox.jsonl"
            await until(lambda: "RankExited" in kept.read_text())
        async with stage.process("keepstep.agent"):
            await server.start()
            exited = await stage.hears(RankExited)
            assert exited.pid == victim.pid
            await until(lambda: stage.beats[-1].boot == "2" and stage.beats[-1].ranks[0].step != survivor.step)
            assert stage.beats[-1].ranks[0].pid == survivor.pid
            await client.plans.publish(head(2, PlanPhase.STOP))
            assert (await stage.hears(PlanApplied, 2)).generation == 2
    await client.close()
    await server.stop()
