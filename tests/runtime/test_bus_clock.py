"""A service goes by the bus's time of day, whatever its own machine says."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Transient
from keepstep.runtime.bus_clock import BusClock
from keepstep.runtime.client import Client
from tests.runtime.conftest import Running
from tests.runtime.stages import Count, Probe, report, until
from tests.runtime.test_wants import deadlines

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Machine:
    """A machine's clocks, moved by hand."""

    def __init__(self) -> None:
        self.wall, self.count = NOON, 100.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.count

    def pass_by(self, seconds: float) -> None:
        self.wall, self.count = self.wall + timedelta(seconds=seconds), self.count + seconds


def bus_of(machine: Machine, ahead: timedelta, *, round_trip_s: float) -> Callable[[], Awaitable[datetime]]:
    """Answer with the time half-way between question and answer, ``ahead`` of the machine's."""

    async def ask() -> datetime:
        machine.pass_by(round_trip_s / 2)
        told = machine.wall + ahead
        machine.pass_by(round_trip_s / 2)
        return told

    return ask


async def test_where_both_agree_it_is_the_machines_own_time() -> None:
    machine = Machine()
    clock = BusClock(bus_of(machine, timedelta(seconds=0.1), round_trip_s=0.5), machine)
    await clock.ask()
    machine.pass_by(3)
    assert clock.now() == machine.wall


@pytest.mark.parametrize("ahead", [HOUR, -HOUR, timedelta(seconds=0.3)])
async def test_where_they_differ_it_is_the_buss(ahead: timedelta) -> None:
    machine = Machine()
    clock = BusClock(bus_of(machine, ahead, round_trip_s=0.5), machine)
    assert clock.now() == NOON, "nobody was asked yet"
    await clock.ask()
    machine.pass_by(3)
    assert clock.now() == machine.wall + ahead


async def test_an_answer_that_came_too_late_tells_nothing() -> None:
    machine = Machine()
    clock = BusClock(bus_of(machine, HOUR, round_trip_s=60), machine)
    await clock.ask()
    assert clock.now() == machine.wall


async def test_a_clock_that_is_set_is_not_followed_and_an_outage_changes_nothing() -> None:
    machine, away = Machine(), False

    async def ask() -> datetime:
        if away:
            raise Transient("cut off")
        return NOON + timedelta(seconds=machine.count - 100)

    clock = BusClock(ask, machine)
    await clock.ask()
    machine.wall += HOUR
    machine.pass_by(5)
    assert clock.now() == NOON + timedelta(seconds=5)
    away = True
    await clock.ask()
    machine.pass_by(5)
    assert clock.now() == NOON + timedelta(seconds=10)
    away = False
    await clock.ask()
    assert clock.now() == NOON + timedelta(seconds=10)


@pytest.mark.parametrize("wrong", [HOUR, -HOUR])
async def test_a_deadline_comes_when_it_is_due_by_the_bus_on_a_machine_with_a_wrong_clock(
    client: Client, pool: Pool, start: Running, monkeypatch: pytest.MonkeyPatch, wrong: timedelta
) -> None:
    """An hour ahead, every level of a recovery failed in the instant in which it began; an hour behind, none ended."""
    right = SystemClock.now
    monkeypatch.setattr(SystemClock, "now", lambda here: right(here) + wrong)
    probe = Probe()
    async with start(probe.app()):
        await client.say(report(pool, "a", condition="due", text="2"))
        await until(lambda: probe.states.get("job-1", Count()).passed == ("bell",))
    (passed,) = await deadlines(client)
    assert abs(passed.time - passed.due) < HOUR / 2
    (bell,) = [entry async for entry in client.read(kind="DeadlinePassed")]
    assert bell.time > passed.due - timedelta(seconds=1.5), "half a round trip is not known"
