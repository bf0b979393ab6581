"""Active and standby: leases by a time to live per key, fencing, and a standby that takes over."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Effect
from keepstep.ports.errors import Fenced
from keepstep.runtime.client import Client
from keepstep.runtime.http import Health, Stand
from keepstep.runtime.keeper import Keeper, Pulse
from keepstep.runtime.lease import Lease
from keepstep.runtime.names import leases_bucket
from keepstep.runtime.tasks import end
from tests.runtime.conftest import BRISK, Running, running, until_said
from tests.runtime.stages import Probe, report, until

ALONE = """
import asyncio, sys
from keepstep.contracts.ids import Pool
from tests.runtime.conftest import running
from tests.runtime.stages import Probe

async def serve():
    async with running(Probe().app(), sys.argv[1], Pool(sys.argv[2]), instance="alone"):
        print("active", flush=True)
        await asyncio.Event().wait()

asyncio.run(serve())
"""


def lease(client: Client, name: str, service: Service = Service.DETECTOR) -> Lease:
    return Lease(client.js, client.pool, service, instance=name, pace=BRISK, clock=SystemClock())


async def test_a_lease_expires_by_itself_and_fences_grow(client: Client) -> None:
    other = await lease(client, "other", Service.ISOLATOR).acquire()
    first = await lease(client, "one").acquire()
    started = time.monotonic()
    second = await asyncio.wait_for(lease(client, "two").acquire(), 5)
    assert time.monotonic() - started >= BRISK.lease_ttl_s * 0.5, "it was held until it expired"
    assert second > first > other


async def test_a_renewed_lease_is_not_given_away(client: Client) -> None:
    held = lease(client, "one")
    await held.acquire()
    keeping, wanting = asyncio.create_task(held.keep()), asyncio.create_task(lease(client, "two").acquire())
    ended, _ = await asyncio.wait({keeping, wanting}, timeout=BRISK.lease_ttl_s * 1.8)
    await end((keeping, wanting))  # wait_for cancels once, and waits for ever where nats-py forgets that
    assert not ended


async def test_a_released_lease_is_free_at_once(client: Client) -> None:
    held = lease(client, "one")
    await held.acquire()
    await held.release()
    await asyncio.wait_for(lease(client, "two").acquire(), BRISK.lease_ttl_s * 0.5)


async def test_who_lost_the_lease_is_told(client: Client) -> None:
    held = lease(client, "one")
    await held.acquire()
    await client.js.publish(f"$KV.{leases_bucket(client.pool)}.detector", b"thief")
    with pytest.raises(Fenced):
        await asyncio.wait_for(held.keep(), 5)


async def test_a_claim_that_nobody_renews_holds_no_lease_for_ever(client: Client) -> None:
    """What somebody wrote into the bucket has no time to live: no instance ever became active again."""
    await client.js.publish(f"$KV.{leases_bucket(client.pool)}.detector", b"\xff\x00 nobody")
    started = time.monotonic()
    await asyncio.wait_for(lease(client, "one").acquire(), 10)
    assert time.monotonic() - started >= BRISK.lease_ttl_s, "a holder has time to renew"


async def test_a_standby_takes_over_after_kill_9(client: Client, pool: Pool, nats_url: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ALONE, nats_url, pool, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    while (line := await asyncio.wait_for(process.stdout.readline(), 20)) != b"active\n":
        assert line, "the first instance did not become active"
    await client.say(report(pool, "a"))
    await until_said(client, "a")
    probe = Probe()
    async with running(probe.app(), nats_url, pool, wait=False, instance="two") as health:
        await until(lambda: health.stands == {Service.DIAGNOSER: Stand.STANDBY})
        os.kill(process.pid, signal.SIGKILL)
        await client.say(report(pool, "b"))
        async with asyncio.timeout(BRISK.lease_ttl_s + 3):
            await health.wait_active()
        await until_said(client, "a", "b")
        assert probe.decided == ["b"]
    await process.wait()


async def test_a_fenced_instance_steps_down_and_decides_no_more(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe()
    health: Health
    async with start(probe.app()) as health:
        await client.say(report(pool, "a"))
        await until_said(client, "a")
        await client.js.publish(f"$KV.{leases_bucket(pool)}.diagnoser", b"another instance")
        await until(lambda: health.stands[Service.DIAGNOSER] is not Stand.ACTIVE)
        await client.say(report(pool, "b"))
        await until(lambda: health.stands[Service.DIAGNOSER] is Stand.STANDBY)
        assert probe.decided == ["a"]


STUCK = replace(BRISK, stuck_s=1.0)


@pytest.fixture
async def keeper(nats_url: str) -> AsyncIterator[Keeper]:
    keeper = Keeper(nats_url, name="leases")
    yield keeper
    await keeper.close()


async def kept(keeper: Keeper, client: Client) -> tuple[Lease, "asyncio.Task[None]"]:
    """Return a lease of the detector that the keeper renews for the loop of this test."""
    clock = SystemClock()
    held = Lease(await keeper.open(), client.pool, Service.DETECTOR, instance="one", pace=STUCK, clock=clock)
    await keeper.call(held.acquire)
    pulse = Pulse(asyncio.get_running_loop(), clock)
    return held, asyncio.create_task(keeper.call(lambda: held.keep(pulse)))


async def test_a_loop_that_hangs_loses_its_lease_and_knows_before_its_next_step(client: Client, keeper: Keeper) -> None:
    held, keeping = await kept(keeper, client)
    time.sleep(STUCK.stuck_s + STUCK.lease_ttl_s + 2 * STUCK.renew_s + 0.5)  # noqa: ASYNC251 - it is what is tested
    assert not held.held
    await asyncio.wait_for(lease(client, "two").acquire(), BRISK.lease_ttl_s + 3)
    # Which of the two it sees first is the cores' choice.
    with pytest.raises(Fenced, match=r"made no turn for 1 s|another instance"):
        await asyncio.wait_for(keeping, 5)


async def test_who_is_dropped_holds_nothing_and_renews_no_more(client: Client, keeper: Keeper) -> None:
    held, keeping = await kept(keeper, client)
    held.drop()
    assert not held.held
    await asyncio.wait_for(keeping, 5)
    await asyncio.wait_for(lease(client, "two").acquire(), BRISK.lease_ttl_s + 3)


@dataclass
class Toiling(Probe):
    """Its act holds up the whole loop for longer than a lease lasts."""

    async def act(self, effect: Effect) -> Iterable[Message]:
        time.sleep(2.5 * BRISK.lease_ttl_s)  # noqa: ASYNC251 - it is what is tested
        return await super().act(effect)


async def test_a_service_that_is_busy_for_longer_than_its_lease_stays_the_active_one(
    client: Client, pool: Pool, start: Running
) -> None:
    probe = Toiling()
    async with start(probe.app()) as health:
        active = probe.context
        await client.say(report(pool, "a", condition="ring", text="bell"))
        await until(lambda: probe.rung == ["bell"])
        await client.say(report(pool, "b"))
        await until_said(client, "a", "b")
        assert probe.context is active, "it lost its lease and became active anew"
        assert health.active
    assert probe.rung == ["bell"]
