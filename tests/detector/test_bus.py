"""Detector and diagnoser on the real bus: exit, silence and a node's report each become one fault and one verdict."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

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
from keepstep.runtime.app import App
from keepstep.runtime.client import Client
from keepstep.runtime.http import Health
from keepstep.runtime.pace import Pace
from keepstep.runtime.service import run
from keepstep.runtime.settings import Settings
from tests.detector.facts import about, accepted, at_step, beat, exited, joined, ranks_of, started, task

BRISK = Pace(first_retry_s=0.02, longest_retry_s=0.2, lease_ttl_s=1, renew_s=0.2, standby_look_s=0.05, mark_s=0.1)
QUICK = DetectionPolicy(
    heartbeat_every=timedelta(seconds=0.1),
    loss_window=timedelta(seconds=0.8),
    settle_limit=timedelta(seconds=0.1),
)
M = TypeVar("M", bound=Message)
Say = Callable[..., Awaitable[None]]


@asynccontextmanager
async def services(url: str, pool: Pool) -> AsyncIterator[None]:
    """Run both until the block ends."""
    settings = Settings(nats_url=SecretStr(url), pool=pool, instance="one")
    stop, health = asyncio.Event(), Health()
    apps: list[App[Any]] = [detector(settings), diagnoser(settings)]
    task = asyncio.create_task(run(apps, settings, stop=stop, health=health, pace=BRISK))
    try:
        async with asyncio.timeout(10):
            await health.wait_active()
        yield
    finally:
        stop.set()
        await task


@pytest.fixture
async def say(nats_url: str, pool: Pool, client: Client, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Say]:
    """Run the services with a job of two tasks and yield a way to say something now in its pool."""
    monkeypatch.setenv("KEEPSTEP_DETECTOR_TICK", "PT0.05S")

    async def saying(*messages: Message) -> None:
        for message in messages:
            await client.say(message.model_copy(update={"pool": pool, "time": datetime.now(UTC)}))

    async with services(nats_url, pool):
        await saying(accepted(QUICK), joined(task(0)), joined(task(1)), started())
        yield saying


async def said(client: Client, kind: type[M], count: int = 1) -> list[M]:
    """Return all messages of a kind once there are ``count``."""
    async with asyncio.timeout(10):
        while True:
            found = [one.message async for one in client.read(kind=kind.__name__)]
            if len(found) >= count:
                return [message for message in found if isinstance(message, kind)]
            await asyncio.sleep(0.02)


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
