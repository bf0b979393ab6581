"""Real processes are killed the moment an event of an incident is seen: it closes all the same, and only once."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Applied, Outcome, Service
from tests.share import share_of, todays
from tests.system.stack import Stack

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

SHARE = share_of(3)
"""Each kind of blow falls at one of three points, each kind and turn at others; KEEPSTEP_TEST_SHARE=1 walks all."""
STANDBY = pytest.mark.parametrize("standby", [False, True], ids=["alone", "beside a standby"])


class Point(StrEnum):
    """The events of one incident, in their order."""

    RANK_EXITED = "RankExited"
    FAULT_DETECTED = "FaultDetected"
    INCIDENT_OPENED = "IncidentOpened"
    FAULT_DIAGNOSED = "FaultDiagnosed"
    ISOLATION_DECLINED = "IsolationDeclined"
    CHECKPOINT_CHOSEN = "CheckpointChosen"
    RECOVERY_PLANNED = "RecoveryPlanned"
    RECOVERY_STARTED = "RecoveryStarted"
    STOPPED = "PlanApplied stopped"
    STARTED = "PlanApplied started"
    RANKS_STARTED = "RanksStarted"
    FIRST_STEP = "FirstStepDone"
    RESUMED = "JobResumed"

    def is_at(self, message: Message) -> bool:
        """Tell whether this message is the point."""
        name, _, applied = self.partition(" ")
        if type(message).__name__ != name:
            return False
        return not isinstance(message, e.PlanApplied) or message.applied is Applied(applied)


def points(offset: int) -> Sequence[Point]:
    """Return the share of the points that a kind of blow falls at."""
    return todays(list(Point), SHARE, offset)


TAKEN_OVER = {
    Service.DETECTOR: Point.RANK_EXITED,
    Service.DIAGNOSER: Point.FAULT_DETECTED,
    Service.ISOLATOR: Point.INCIDENT_OPENED,
    Service.CHECKPOINT_MANAGER: Point.INCIDENT_OPENED,
    Service.SCHEDULER_ADAPTER: Point.RECOVERY_STARTED,
    Service.NOTIFIER: Point.FAULT_DETECTED,
}
"""Right before each service's own work in an incident, so that it is left to the standby."""


async def incident(stack: Stack, point: Point, strike: Callable[[], Awaitable[None]]) -> None:
    """Kill a rank, strike when the point is seen, and see the job step again after exactly one restart."""
    await stack.all_active()
    before = set(stack.said)
    old = stack.generation()
    rank = old % 2
    seen = [message for message in stack.said.values() if isinstance(message, e.IncidentClosed)]

    def reached() -> bool:
        return any(point.is_at(message) for name, message in stack.said.items() if name not in before)

    stack.kill_rank(rank)
    await stack.until(reached, f"{point} after rank {rank} of generation {old} was killed")
    await strike()
    await stack.until(lambda: len(stack.all(e.IncidentClosed)) > len(seen), f"closed after a blow at {point}")
    await stack.stepping(old + 1)
    new = [message for name, message in stack.said.items() if name not in before]
    started = [(m.from_generation, m.to_generation) for m in new if isinstance(m, e.RecoveryStarted)]
    assert started == [(old, old + 1)], stack.told()
    assert [m.outcome for m in new if isinstance(m, e.IncidentClosed)] == [Outcome.RESUMED]
    assert len([m for m in new if isinstance(m, e.FaultDetected)]) == 1, stack.told()


@pytest.mark.parametrize("service", Service)
async def test_each_service_may_die_alone(stack: Stack, service: Service) -> None:
    for point in points(list(Service).index(service)):

        async def strike() -> None:
            for pid in stack.pids(service):
                stack.kill(service, pid)
            stack.start(service)

        await incident(stack, point, strike)


async def test_all_services_may_die_at_any_point(stack: Stack) -> None:
    for point in points(0):

        async def strike() -> None:
            for service in Service:
                for pid in stack.pids(service):
                    stack.kill(service, pid)
            for service in Service:
                stack.start(service)

        await incident(stack, point, strike)


@pytest.mark.parametrize("service", Service)
async def test_the_standby_of_one_service_takes_over(stack: Stack, service: Service) -> None:
    """One process dies and none is started; only the standby of that service can close the incident."""
    await stack.all_active()
    stack.start(service)
    active = await stack.active(service)
    (standby,) = set(stack.pids(service)) - {active}
    point = TAKEN_OVER[service]

    async def strike() -> None:
        stack.kill(service, active)

    await incident(stack, point, strike)
    await stack.all_active()
    assert await stack.active(service) == standby
    assert stack.pids(service) == [standby]


@asynccontextmanager
async def standing_by(stack: Stack, wanted: bool = True) -> AsyncIterator[None]:
    """Have a second process of each service beside the active one while the block runs, if any is wanted."""
    for service in Service if wanted else ():
        stack.start(service)
    yield
    await stack.all_active()
    for service in Service:
        kept = await stack.active(service)
        assert kept, f"{service} has no active instance"
        for pid in stack.pids(service):
            if pid != kept:
                stack.kill(service, pid)


async def test_a_standby_takes_over_at_any_point(stack: Stack) -> None:
    async with standing_by(stack):
        for point in points(1):
            active = {service: await stack.active(service) for service in Service}

            async def strike(active: dict[Service, int] = active) -> None:
                for service, pid in active.items():
                    stack.kill(service, pid)
                for service in Service:
                    stack.start(service)

            await incident(stack, point, strike)


@STANDBY
async def test_the_bus_may_die_at_any_point(stack: Stack, standby: bool) -> None:
    async def strike() -> None:
        await stack.kill_server()
        await stack.server.start()

    async with standing_by(stack, standby):
        for point in points(2 + standby):
            await incident(stack, point, strike)


@STANDBY
async def test_the_store_may_die_at_any_point(stack: Stack, standby: bool) -> None:
    async def strike() -> None:
        stack.kill_store()
        stack.store.start()

    async with standing_by(stack, standby):
        for point in points(3 + standby):
            await incident(stack, point, strike)


@STANDBY
async def test_the_store_may_be_emptied_at_any_point(stack: Stack, standby: bool) -> None:
    async def strike() -> None:
        stack.store.flush()

    async with standing_by(stack, standby):
        for point in points(4 + standby):
            await incident(stack, point, strike)
