"""A service is delivered what it hears, and nothing that it would only throw away."""

from dataclasses import replace

import pytest
from nats.js.api import ConsumerInfo

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.events import DeadlinePassed, FaultCleared
from keepstep.contracts.ids import EventId, Pool, subject_token
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.taxonomy import Service
from keepstep.diagnoser.app import STAGE
from keepstep.notifier.app import notifier_stage
from keepstep.notifier.settings import Settings
from keepstep.notifier.sinks import directory
from keepstep.runtime.app import App, Context
from keepstep.runtime.client import Client
from keepstep.runtime.folds import Folds
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.stage import Stage
from tests.runtime.conftest import Running, until_said
from tests.runtime.stages import Count, Probe, cleared, report, until


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> list[Metrics]:
    """Return the metrics of the processes that the test starts."""
    seen: list[Metrics] = []
    original = Metrics.__init__

    def noted(self: Metrics, **options: int) -> None:
        original(self, **options)
        seen.append(self)

    monkeypatch.setattr(Metrics, "__init__", noted)
    return seen


async def consumer_of(client: Client, service: Service = Service.DIAGNOSER) -> ConsumerInfo:
    """Return what the server knows of the service's consumer."""
    consumers = await client.js.consumers_info(f"keepstep-{subject_token(client.pool)}")
    [found] = [info for info in consumers if info.name.startswith(f"{service}-")]
    return found


async def test_what_a_service_does_not_hear_is_not_delivered_to_it(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe()
    async with start(probe.app()):
        for number in range(10):
            await client.say(cleared(report(pool, f"old{number}"), number, report(pool, "x").time))
        await client.say(report(pool, "a"))
        await until_said_of_all(client, 11)
        info = await consumer_of(client)
        assert info.delivered is not None
        assert info.delivered.consumer_seq == 1, "the report alone"


async def until_said_of_all(client: Client, count: int) -> None:
    """Return once so many FaultCleared are in the stream."""

    async def said() -> bool:
        return len([one async for one in client.read(kind=FaultCleared.__name__)]) == count

    await until(said)


async def test_the_deadlines_of_other_services_are_not_delivered(client: Client, pool: Pool, start: Running) -> None:
    probe = Probe()
    async with start(probe.app()):
        for service in (Service.DETECTOR, Service.ISOLATOR, Service.DIAGNOSER):
            await client.say(passed(pool, service))
        await client.say(report(pool, "a"))
        await until_said(client, "a")
        info = await consumer_of(client)
        assert info.delivered is not None
        assert info.delivered.consumer_seq == 2, "its own and the report"


def passed(pool: Pool, service: Service) -> DeadlinePassed:
    """Return a deadline of a service that its fold knows nothing of any more."""
    about = report(pool, "x")
    name = EventId(f"passed-{service}")
    fields = {"service": service, "scope": "job-1", "what": "w", "due": about.time}
    return DeadlinePassed(id=name, time=about.time, pool=pool, job=about.job, **fields)


async def test_a_restarted_service_takes_up_between_messages_that_it_does_not_hear(
    client: Client, pool: Pool, start: Running
) -> None:
    for name in ("a", "b"):
        probe = Probe()
        async with start(probe.app()):
            await client.say(report(pool, name))
            await until(lambda: probe.decided == [name])  # noqa: B023 - awaited here
        for number in range(3):
            await client.say(cleared(report(pool, f"{name}{number}"), number, report(pool, "x").time))
    probe = Probe()
    async with start(probe.app()):
        await client.say(report(pool, "c"))
        await until(lambda: probe.states.get("job-1", Count()).seen == ("a", "b", "c"))
        assert probe.decided == ["c"]


async def test_an_unknown_type_is_acknowledged_and_counted_by_the_one_stage_that_is_given_every_type(
    client: Client, pool: Pool, start: Running, metrics: list[Metrics]
) -> None:
    probe = Probe()

    def stage(context: Context[Count]) -> Stage[Count]:
        return replace(probe.app().stage(context), counts_unknown=True)

    async with start(App(service=Service.DIAGNOSER, stage=stage)):
        await client.js.publish(f"keepstep.{subject_token(pool)}.TeapotBoiled.job-1", b"{}")
        await client.say(report(pool, "a"))
        await until_said(client, "a")
        counted = b'keepstep_unknown_events_total{service="diagnoser"} 1.0'
        await until(lambda: counted in metrics[0].text())

        async def acknowledged() -> bool:
            return not (await consumer_of(client)).num_ack_pending

        await until(acknowledged)
    assert await client.dead_letters.list() == ()


def test_the_notifier_is_the_one_that_counts_them() -> None:
    own = Settings()
    stage = notifier_stage(directory(own), SystemClock(), pool=NotificationPolicy(routes=own.routes))
    assert stage.counts_unknown
    assert not STAGE.counts_unknown


async def test_an_instance_to_which_nothing_was_delivered_moves_no_mark_back() -> None:
    store = MemoryStore()
    first = Folds(store, Count, fence=1, stream="s")
    await first.load()
    await first.mark(3)
    second = Folds(store, Count, fence=2, stream="s")
    await second.load()
    await second.mark(0)
    third = Folds(store, Count, fence=3, stream="s")
    assert await third.load() == 4
