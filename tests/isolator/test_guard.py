"""What the guard would still let out is shown by the strictest policy, and not while the fleet is out of sight."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from keepstep.adapters.clock import SystemClock
from keepstep.contracts.message import POOL_KEY
from keepstep.contracts.policy import IsolationPolicy
from keepstep.isolator import app
from keepstep.isolator.core import Isolations, decide
from keepstep.isolator.core.guard import budget_left
from keepstep.ports.cluster import NodeStatus
from keepstep.ports.roll import Roll
from keepstep.runtime.app import Context
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.tasks import end
from tests.isolator.doubles import Fleet
from tests.isolator.words import POOL, accepted, node
from tests.runtime.stages import until

MIXED = [IsolationPolicy(), IsolationPolicy(fleet_share=0.05)]


def nodes(count: int, *, out: int = 0, groups: int = 0) -> list[NodeStatus]:
    """Return so many nodes, the first of them out, dealt out to the groups one after the other."""
    return [
        node(f"n{at}", by="keepstep" if at < out else None, group=f"g{at % groups}" if groups else None)
        for at in range(count)
    ]


@pytest.mark.parametrize(
    ("there", "policies", "left"),
    [
        (nodes(100), [IsolationPolicy()], {"fleet": 10}),
        (nodes(100, out=4), [IsolationPolicy()], {"fleet": 6}),
        (nodes(100, out=4), MIXED, {"fleet": 1}),
        (nodes(100, out=30), [IsolationPolicy()], {"fleet": 0}),
        (nodes(3), [IsolationPolicy()], {"fleet": 1}),
        (nodes(3, out=1), [], {"fleet": 0}),
        (nodes(80, out=3, groups=4), [IsolationPolicy()], {"fleet": 5, "group": 1}),
        ([*nodes(99), node("foreign", by="kured")], [IsolationPolicy()], {"fleet": 10}),
    ],
)
def test_what_the_guard_lets_out_still(
    there: list[NodeStatus], policies: list[IsolationPolicy], left: dict[str, int]
) -> None:
    assert budget_left(Roll(there).census, policies) == left


@asynccontextmanager
async def told(fleet: Fleet, fold: Isolations) -> AsyncIterator[Metrics]:
    """Show the guard's budget for the block."""
    metrics = Metrics()
    context: Context[Isolations] = Context(POOL, SystemClock(), None, None, None, lambda: {POOL_KEY: fold}, None)  # type: ignore[arg-type]  # a guard asks for folds and clock alone
    telling = asyncio.create_task(app.tell_budget(replace(context, metrics=metrics), fleet))
    try:
        yield metrics
    finally:
        await end([telling])


def shown(metrics: Metrics, room: str = "fleet") -> float | None:
    return metrics.registry.get_sample_value("keepstep_isolation_guard_left", {"room": room})


async def test_the_scrape_follows_the_fleet_and_the_jobs_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "TELL_S", 0.0)
    fleet = Fleet(*nodes(40, out=1))
    fleet.looks = 10**9
    fold = decide(None, accepted(fleet_share=0.05), accepted().time).state
    async with told(fleet, fold) as metrics:
        await until(lambda: shown(metrics) == 1)
        fleet.put("n0", mark=None)
        await until(lambda: shown(metrics) == 2)
        fleet.looks = 0
        await until(lambda: shown(metrics) is None)
        fleet.looks = 10**9
        await until(lambda: shown(metrics) == 2)
    assert shown(metrics) is None, "a standby tells nothing"
