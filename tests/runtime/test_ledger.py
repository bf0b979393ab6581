"""The ledger on a real stream: it goes on over restarts, take-overs and a lost store, and never counts twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.store_memory import MemoryStore
from keepstep.adapters.store_nats import NatsStore
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Fenced
from keepstep.ports.store import Store
from keepstep.runtime import ledger as ledgers
from keepstep.runtime import names, service
from keepstep.runtime.client import Client
from keepstep.runtime.ledger import KEPT_BY, KEY, Around, Ledger
from keepstep.runtime.log import logger
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.settings import Settings
from keepstep.runtime.tasks import end
from tests.active import active
from tests.core.telling import Job
from tests.runtime.conftest import BRISK
from tests.runtime.stages import Probe, report, until


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count what comes without patience."""
    monkeypatch.setattr(ledgers, "PATIENCE_S", 0.0)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Metrics]:
    """Return the metrics of the processes that the test starts."""
    found: list[Metrics] = []

    class Noted(Metrics):
        def __init__(self, **options: int) -> None:
            super().__init__(**options)
            found.append(self)

    monkeypatch.setattr(service, "Metrics", Noted)
    return found


def value(metrics: Metrics, name: str) -> float | None:
    return metrics.registry.get_sample_value(name)


def around(client: Client, store: Store, metrics: Metrics) -> Around:
    return Around(client, store, SystemClock(), metrics, logger(KEPT_BY), BRISK)


@asynccontextmanager
async def kept(client: Client, store: Store, *, fence: int = 1) -> AsyncIterator[Metrics]:
    """Keep the ledger for the block, which begins when it shows something."""
    metrics = Metrics()
    keeping = asyncio.create_task(Ledger(around(client, store, metrics), fence=fence).keep())
    try:
        await until(lambda: keeping.done() or value(metrics, "keepstep_incidents_open") is not None)
        assert not keeping.done(), keeping.exception()
        yield metrics
    finally:
        await end([keeping])


async def say(client: Client, messages: list[Message]) -> None:
    for message in messages:
        await client.say(message)


def incident(pool: Pool, name: str) -> list[Message]:
    job = Job(pool=pool)
    return job.incident(10.0 + int(name[1:]) * 100, name)


OPENED = "keepstep_incidents_opened_total"


async def test_what_is_in_the_stream_and_what_comes_is_counted_once(client: Client, pool: Pool) -> None:
    await say(client, [Job(pool=pool).accepted(), *incident(pool, "i1")])
    async with kept(client, MemoryStore()) as metrics:
        assert value(metrics, OPENED) == 1
        await say(client, incident(pool, "i2"))
        await until(lambda: value(metrics, OPENED) == 2)


async def test_a_takeover_goes_on_where_the_predecessor_stood(client: Client, pool: Pool) -> None:
    store = MemoryStore()
    await say(client, incident(pool, "i1"))
    async with kept(client, store) as metrics:
        await until(lambda: store_has(store))
    await say(client, incident(pool, "i2"))
    async with kept(client, store, fence=2) as metrics:
        assert value(metrics, OPENED) == 2


async def store_has(store: Store) -> bool:
    return await store.load(KEY) is not None


async def test_counters_do_not_fall_when_the_stream_forgot_what_was_counted(client: Client, pool: Pool) -> None:
    store = NatsStore(client.js, names.folds_room(pool, KEPT_BY))
    await say(client, incident(pool, "i1"))
    async with kept(client, store):
        await until(lambda: store_has(store))
    await client.js.purge_stream(names.stream_name(pool))
    async with kept(client, store, fence=2) as metrics:
        assert value(metrics, OPENED) == 1


async def test_a_ledger_that_the_store_lost_is_counted_again_from_the_stream(client: Client, pool: Pool) -> None:
    await say(client, incident(pool, "i1"))
    for fence in (1, 2):
        async with kept(client, MemoryStore(), fence=fence) as metrics:
            assert value(metrics, OPENED) == 1


async def test_a_ledger_of_another_stream_is_not_believed(client: Client, pool: Pool) -> None:
    store = MemoryStore()
    await say(client, incident(pool, "i1"))
    async with kept(client, store):
        await until(lambda: store_has(store))
    await client.js.delete_stream(names.stream_name(pool))
    await client.provision()
    async with kept(client, store, fence=2) as metrics:
        assert value(metrics, OPENED) == 0


async def test_who_lost_the_lease_writes_no_figures_any_more(client: Client, pool: Pool) -> None:
    store = MemoryStore()
    await say(client, incident(pool, "i1"))
    async with kept(client, store, fence=2):
        await until(lambda: store_has(store))
    with pytest.raises(Fenced):
        await Ledger(around(client, store, Metrics()), fence=1).keep()


async def test_a_ledger_that_forgets_a_cancellation_ends_at_the_next(
    client: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``asyncio.wait_for`` of Python 3.11 does: a task group cancels its tasks but once and waited for ever."""
    forgotten: list[int] = []

    async def deaf(*_arguments: object, **_options: object) -> AsyncIterator[object]:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            forgotten.append(1)
        await asyncio.sleep(3600)
        yield object()

    monkeypatch.setattr(ledgers, "follow", deaf)
    async with asyncio.timeout(30):
        async with kept(client, MemoryStore()):
            await asyncio.sleep(0.05)  # for the reader to have begun: a task that never ran is cancelled for good
    assert forgotten == [1]


async def test_nothing_is_shown_any_more_by_who_stopped_keeping_it(client: Client, pool: Pool) -> None:
    async with kept(client, MemoryStore()) as metrics:
        pass
    assert value(metrics, "keepstep_incidents_open") is None


async def test_the_active_notifier_keeps_the_ledger_and_tells_lag_and_bus(
    client: Client, nats_url: str, pool: Pool, monkeypatch: pytest.MonkeyPatch, made: list[Metrics]
) -> None:
    monkeypatch.setattr(service, "serving", lambda *_: unserved())
    settings = Settings(nats_url=SecretStr(nats_url), pool=pool, http_port=1)
    async with active([Probe().app(Service.NOTIFIER)], settings, pace=BRISK):
        await say(client, incident(pool, "i1"))
        (metrics,) = made
        told = {"service": "notifier"}
        await until(lambda: value(metrics, OPENED) == 1)
        await until(lambda: metrics.registry.get_sample_value("keepstep_queue_lag_messages", told) == 0)
        assert metrics.registry.get_sample_value("keepstep_bus_connected", told) == 1


@pytest.mark.parametrize("own", [True, False])
async def test_figures_are_shown_to_whoever_serves_the_metrics_himself(
    client: Client, nats_url: str, pool: Pool, made: list[Metrics], *, own: bool
) -> None:
    """As the console does for the services beside it; a process that nobody asks keeps no ledger."""
    settings, metrics = Settings(nats_url=SecretStr(nats_url), pool=pool), Metrics() if own else None
    await say(client, incident(pool, "i1"))
    async with active([Probe().app(Service.NOTIFIER)], settings, pace=BRISK, metrics=metrics):
        if metrics is not None:
            await until(lambda: value(metrics, OPENED) == 1)
            return
        (unasked,) = made
        await until(lambda: unasked.registry.get_sample_value("keepstep_service_active", {"service": "notifier"}) == 1)
        await until(
            lambda: unasked.registry.get_sample_value("keepstep_queue_lag_messages", {"service": "notifier"}) == 0
        )
        assert value(unasked, OPENED) is None


@asynccontextmanager
async def unserved() -> AsyncIterator[int]:
    """Serve nothing: the test looks at the registry."""
    yield 0


async def test_what_the_bus_delivers_again_is_counted(
    client: Client, nats_url: str, pool: Pool, made: list[Metrics]
) -> None:
    probe = Probe(raises={"r1": [RuntimeError("once"), RuntimeError("twice")]})
    settings = Settings(nats_url=SecretStr(nats_url), pool=pool)
    async with active([probe.app()], settings, pace=BRISK):
        await client.say(report(pool, "r1"))
        await until(lambda: probe.decided == ["r1"] * 3)
        found = made[0].registry.get_sample_value("keepstep_redeliveries_total", {"service": "diagnoser"})
    assert found == 2
