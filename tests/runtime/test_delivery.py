"""Nothing lost, nothing twice: what happens to a message whatever goes wrong with it (PROTOCOL section 3)."""

import asyncio

import pytest

from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Permanent, Transient
from keepstep.runtime.arrival import Receipt
from keepstep.runtime.client import Client
from keepstep.runtime.fold import Fold
from keepstep.runtime.folds import Folds
from keepstep.runtime.lanes import Lanes
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.tail import Stored
from tests.runtime.conftest import BRISK, Running, running, until_said
from tests.runtime.stages import Count, Probe, report, until


async def test_messages_of_a_key_are_decided_on_in_order(client: Client, pool: Pool, start: Running) -> None:
    names = [f"m{number}" for number in range(200)]
    for name in names:
        await client.publish(report(pool, name))
    probe = Probe()
    async with start(probe.app()):
        await until_said(client, *names)
    assert probe.decided == names


@pytest.mark.parametrize("error", [ValueError("a bug"), Transient("later"), Permanent("twice only")])
async def test_an_exception_drops_no_event_and_holds_its_key_alone(
    client: Client, pool: Pool, start: Running, error: Exception
) -> None:
    probe = Probe(raises={"b": [error, error]})
    async with start(probe.app()):
        for name in ("a", "b", "c"):
            await client.say(report(pool, name))
        await client.say(report(pool, "x", job="job-2"))
        await until(lambda: probe.decided.count("b") == 3 and "c" in probe.decided)
        await until(lambda: probe.states.get("job-1", Count()).seen == ("a", "b", "c"))
    assert probe.decided.index("x") < probe.decided.index("c"), "the other key did not wait"
    assert await client.dead_letters.list() == ()


async def test_a_crash_between_write_and_publish_republishes_the_outbox(
    client: Client, pool: Pool, start: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()

    async def stuck(self: Client, message: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    probe = Probe()
    with monkeypatch.context() as patched:
        patched.setattr(Client, "say", stuck)
        async with start(probe.app()):
            await client.publish(report(pool, "a"))
            await reached.wait()
    async with start(probe.app()):
        await until_said(client, "a")
        await client.say(report(pool, "b"))
        await until_said(client, "a", "b")
    assert probe.decided == ["a", "b"], "what was written is not decided on again"


async def test_a_restart_says_nothing_twice(client: Client, pool: Pool, start: Running) -> None:
    names = [f"m{number}" for number in range(20)]
    for name in names:
        await client.publish(report(pool, name))
    for _ in range(3):
        probe = Probe()
        async with start(probe.app()):
            await until_said(client, *names)
            assert probe.states["job-1"].seen == tuple(names)


async def test_labels_do_not_explode(client: Client, pool: Pool, nats_url: str) -> None:
    seen: list[Metrics] = []
    original = Metrics.__init__

    def noted(self: Metrics, *, most_jobs: int) -> None:
        original(self, most_jobs=most_jobs)
        seen.append(self)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Metrics, "__init__", noted)
        probe = Probe(raises={"m3": [ValueError("once")]})
        async with running(probe.app(), nats_url, pool):
            await client.say(report(pool, "first", job="first"))
            await until(lambda: b'decision_seconds_count{service="diagnoser"} 1.0' in seen[0].text())
            before = {line.split(b" ")[0] for line in seen[0].text().splitlines()}
            for number in range(30):
                await client.say(report(pool, f"m{number}", job=f"job-{number}"))
            await until(lambda: b'decision_seconds_count{service="diagnoser"} 31.0' in seen[0].text())
            after = {line.split(b" ")[0] for line in seen[0].text().splitlines()}
    grown = {line for line in after - before if b"_created" not in line}
    assert grown <= {
        b'keepstep_failures_total{place="decide",service="diagnoser"}',
        b'keepstep_queue_lag_messages{service="diagnoser"}',  # asked of the bus now and then
    }
    assert not any(b"job-" in line for line in after)


async def test_what_takes_longer_than_the_bus_waits_is_delivered_again_and_decided_on_once(
    client: Client, pool: Pool, start: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, slow = Folds.save, [BRISK.ack_wait_s * 1.5]

    async def saved(self: Folds[Count], key: str, fold: Fold[Count]) -> None:
        if slow:
            await asyncio.sleep(slow.pop())  # a store that answers late, for longer than the bus waits
        await save(self, key, fold)

    again = 0
    taken = Lanes.take

    async def take(self: Lanes[Count], stored: Stored, receipt: Receipt) -> None:
        nonlocal again
        again += stored.sequence in self._open
        await taken(self, stored, receipt)

    monkeypatch.setattr(Folds, "save", saved)
    monkeypatch.setattr(Lanes, "take", take)
    probe = Probe()
    async with start(probe.app()):
        for name in ("a", "b"):
            await client.say(report(pool, name))
        await until_said(client, "a", "b")
    assert again >= 1
    assert probe.decided == ["a", "b"]
