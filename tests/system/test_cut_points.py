"""Real processes are killed the moment an event of an incident is seen: it closes all the same, and only once."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

import pytest
import pytest_asyncio

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.policy import Budget, DetectionPolicy, Policy, RecoveryPolicy, TrainerPolicy
from keepstep.contracts.taxonomy import Applied, Outcome, Service
from keepstep.contracts.topology import JobSpec, Script
from tests.system.job import ROOT
from tests.system.stack import Stack, stacked

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

GENEROUS = Budget(count=100_000)
PLAIN_LOOP = Script(path=str(ROOT / "examples" / "plain_loop.py"), args=("--steps", "1000000"))
FENCE = timedelta(seconds=20)
SHARE = int(os.environ.get("KEEPSTEP_TEST_SHARE", "3"))
"""Each kind of blow falls at one of three points, each kind at others; KEEPSTEP_TEST_SHARE=1 walks every point."""


def spec(folder: Path) -> JobSpec:
    """Return a loop of two tasks that outlives any number of faults."""
    policy = Policy(
        recovery=RecoveryPolicy(crash=GENEROUS, unknown=GENEROUS, instant_failure=timedelta(0)),
        notification=NotificationPolicy(routes=()),
        detection=DetectionPolicy(),
        trainer=TrainerPolicy(self_fence_after=FENCE),
    )
    return JobSpec(name="loop", entrypoint=PLAIN_LOOP, nodes=2, nproc=1, cwd=str(folder), policy=policy)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """One stack with one job for all tests of this file."""
    folder = tmp_path_factory.mktemp("stack")
    async with stacked(folder) as started:
        await started.create(spec(folder))
        yield started


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


def points(offset: int) -> list[Point]:
    """Return the share of the points that a kind of blow falls at."""
    return list(Point)[offset % SHARE :: SHARE]


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


async def test_a_standby_takes_over_at_any_point(stack: Stack) -> None:
    for service in Service:
        stack.start(service)
    for point in points(1):
        active = {service: await stack.active(service) for service in Service}

        async def strike(active: dict[Service, int] = active) -> None:
            for service, pid in active.items():
                stack.kill(service, pid)
            for service in Service:
                stack.start(service)

        await incident(stack, point, strike)
    await stack.all_active()
    for service in Service:
        kept = await stack.active(service)
        assert kept, f"{service} has no active instance"
        for pid in stack.pids(service):
            if pid != kept:
                stack.kill(service, pid)


async def test_the_bus_may_die_at_any_point(stack: Stack) -> None:
    for point in points(2):

        async def strike() -> None:
            await stack.kill_server()
            await stack.server.start()

        await incident(stack, point, strike)


async def test_the_store_may_die_at_any_point(stack: Stack) -> None:
    for point in points(3):

        async def strike() -> None:
            stack.kill_store()
            stack.store.start()

        await incident(stack, point, strike)


async def test_the_store_may_be_emptied_at_any_point(stack: Stack) -> None:
    for point in points(4):

        async def strike() -> None:
            stack.store.flush()

        await incident(stack, point, strike)


@contextmanager
def paused(pids: list[int]) -> Iterator[None]:
    """Let these processes stand still while the block runs."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def test_a_pause_of_the_whole_machine_is_no_fault(stack: Stack) -> None:
    await stack.all_active()
    before, old = set(stack.said), stack.generation()
    steps = {rank: slot.step for rank, slot in stack.slots().items()}
    with paused(stack.everything_but_ranks()):
        await asyncio.sleep(30)
    assert all(slot.step > steps[rank] + 100 for rank, slot in stack.slots().items()), "ranks were paused, too"
    await stack.all_active()
    await heard_again(stack)
    faults = [m for name, m in stack.said.items() if name not in before and isinstance(m, e.FaultDetected)]
    assert faults == [], stack.told()
    with paused(stack.everything_but_ranks()):
        stack.kill_rank(1)
        await asyncio.sleep(12)
    await stack.until(lambda: any(m.generation == old + 1 for m in stack.all(e.IncidentClosed)), "closed after a pause")
    await stack.stepping(old + 1)
    new = [m for name, m in stack.said.items() if name not in before]
    handled = [type(m).__name__ for m in new if isinstance(m, e.FaultDetected | e.RecoveryStarted)]
    assert handled == ["FaultDetected", "RecoveryStarted"], stack.told()


async def heard_again(stack: Stack) -> None:
    """Return after a loss window, in which whatever the detector makes of the pause must come out."""
    window = spec(stack.folder).policy.detection.loss_window
    await asyncio.sleep(window.total_seconds() + 2)


async def test_two_minutes_without_the_bus(stack: Stack) -> None:
    await stack.all_active()
    before, old = set(stack.said), stack.generation()
    await stack.kill_server()
    try:
        await _cut_off_for_long(stack)
    finally:
        await stack.server.start()
    await stack.until(lambda: any(m.generation == old + 1 for m in stack.all(e.IncidentClosed)), "closed after it")
    await stack.stepping(old + 1)
    new = [m for name, m in stack.said.items() if name not in before]
    assert [(m.from_generation, m.to_generation) for m in new if isinstance(m, e.RecoveryStarted)] == [(old, old + 1)]
    assert len([m for m in new if isinstance(m, e.IncidentOpened)]) == 1, stack.told()


async def _cut_off_for_long(stack: Stack) -> None:
    """Freeze a rank, which its agent stops after the fence; kill the one that steps at the end of two minutes."""
    began = asyncio.get_running_loop().time()
    frozen = stack.slots()[1]
    os.kill(frozen.pid, signal.SIGSTOP)
    async with asyncio.timeout(FENCE.total_seconds() + 20):
        while alive(frozen.pid):  # noqa: ASYNC110 - until its agent stops it
            await asyncio.sleep(0.1)
    assert asyncio.get_running_loop().time() - began >= FENCE.total_seconds(), "stopped before its time"
    stepping = stack.slots()[0]
    while asyncio.get_running_loop().time() < began + 110:
        assert alive(stepping.pid), "a rank that steps was stopped"
        await asyncio.sleep(0.5)
    assert stack.slots()[0].step > stepping.step + 500
    os.kill(stepping.pid, signal.SIGKILL)
    await asyncio.sleep(10)


def alive(pid: int) -> bool:
    """Tell whether a process runs, standing still or not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state != "Z"
