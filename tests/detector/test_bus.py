"""Detector and diagnoser on the real bus: exit, silence and a node's report each become one fault and one verdict."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from keepstep.contracts.events import DeviceReported, FaultDetected, FaultDiagnosed, IncidentOpened
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.contracts.policy import DetectionPolicy
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.telemetry import Heartbeat
from keepstep.detector.app import build as detector
from keepstep.diagnoser.app import build as diagnoser
from keepstep.runtime.client import Client
from keepstep.runtime.settings import Settings
from tests.active import active, said
from tests.detector.facts import about, accepted, at_step, beat, exited, joined, ranks_of, started, task

QUICK = DetectionPolicy(
    heartbeat_every=timedelta(seconds=0.1),
    loss_window=timedelta(seconds=0.8),
    settle_limit=timedelta(seconds=0.1),
)
Say = Callable[..., Awaitable[None]]


@pytest.fixture
async def say(nats_url: str, pool: Pool, client: Client, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Say]:
    """Run the services with a job of two tasks and yield a way to say something now in its pool."""
    monkeypatch.setenv("KEEPSTEP_DETECTOR_TICK", "PT0.05S")

    async def saying(*messages: Message) -> None:
        for message in messages:
            await client.say(message.model_copy(update={"pool": pool, "time": datetime.now(UTC)}))

    settings = Settings(nats_url=SecretStr(nats_url), pool=pool, instance="one")
    async with active((detector(settings), diagnoser(settings)), settings):
        await saying(accepted(QUICK), joined(task(0)), joined(task(1)), started())
        yield saying


@asynccontextmanager
async def beating(client: Client, beats: Callable[[float], list[Heartbeat]]) -> AsyncIterator[None]:
    """Send these heartbeats ten times a second until the block ends."""

    async def forever() -> None:
        now = 0.0
        while True:
            for heartbeat in beats(now):
                await client.telemetry.beat(heartbeat.model_copy(update={"pool": client.pool}))
            await asyncio.sleep(0.1)
            now += 0.1

    sending = asyncio.create_task(forever())
    try:
        yield
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


def frozen(index: int) -> Heartbeat:
    """Return a beat of a task whose ranks do not step."""
    return beat(index, 1.0, [at_step(rank, 30) for rank in ranks_of(index)])


async def test_an_exit_becomes_a_fault_an_incident_and_a_verdict(say: Say, client: Client) -> None:
    async with beating(client, lambda _now: [frozen(0), frozen(1)]):
        await say(exited(3, signal=9))
        (verdict,) = await said(client, FaultDiagnosed)
        (fault,) = await said(client, FaultDetected)
        (opened,) = await said(client, IncidentOpened)
    assert verdict.faults == (fault.id,)
    assert verdict.incident == opened.incident
    assert verdict.verdict.culprit is not None
    assert verdict.verdict.culprit.rank == 3


async def test_an_agent_that_falls_silent_becomes_a_fault(say: Say, client: Client) -> None:
    async with beating(client, lambda now: [frozen(0)] if now > 0.5 else [frozen(0), frozen(1)]):
        (fault,) = await said(client, FaultDetected)
        (verdict,) = await said(client, FaultDiagnosed)
    assert (fault.task, fault.evidence.kind) == (task(1).uid, "silence")
    assert verdict.verdict.category is Category.UNKNOWN


async def test_a_device_report_without_a_job_reaches_the_job_on_its_node(say: Say, client: Client) -> None:
    fields = about("device", ref=task(1)) | {"job": None, "task": None}
    async with beating(client, lambda _now: [frozen(0), frozen(1)]):
        await say(DeviceReported(**fields, device="gpu-0", code="79", text="NVRM: Xid (PCI:1): 79"))
        (verdict,) = await said(client, FaultDiagnosed)
    assert verdict.verdict.category is Category.DEVICE_HARDWARE
    assert verdict.verdict.isolate
    assert verdict.node == "node-1"
