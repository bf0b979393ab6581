"""A job that outlives the stream's memory: services whose stores are lost know all of it from what was restated."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from unittest import mock

import pytest

from keepstep.adapters.store_memory import MemoryStore
from keepstep.contracts.events import (
    CheckpointChosen,
    FoldRestated,
    IncidentClosed,
    JobAccepted,
    JobDeleted,
    JobResumed,
    NodeIsolated,
    NodeReleased,
    RecoveryPlanned,
)
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Outcome, Service
from keepstep.core.budgets import BudgetClass
from tests.pipeline.agent import SAVED
from tests.pipeline.loop import simulate
from tests.pipeline.story import (
    QUIET_S,
    Harm,
    begin,
    delete_the_first_task,
    end,
    kill_rank_3,
    lose_the_second_node,
)
from tests.pipeline.world import World

EVERY_S = 5.0
"""A day, in these stories."""


async def restated(world: World) -> None:
    """Return when every service has restated each of its folds once more."""
    before = len(world.stream.said)
    await asyncio.sleep(EVERY_S * 1.5)
    again = {message.service for message in world.stream.said[before:] if isinstance(message, FoldRestated)}
    assert again == set(Service)


def lose_everything_older(world: World) -> None:
    """The stores are empty and the stream has lost what is older than the newest restatements."""
    last: dict[str, FoldRestated] = {}
    for message in world.stream.said:
        if isinstance(message, FoldRestated):
            last[message.key] = message
    world.stream.forget(min(message.through for message in last.values()) + 1)
    world.stores = {service: MemoryStore() for service in Service}


async def told(world: World, harm: Harm, *, meanwhile: Callable[[World], None], first: Harm | None = None) -> World:
    """Let the job run past a restatement, do something while no service runs, and tell the rest of the story."""
    with mock.patch("keepstep.runtime.restating.EVERY", timedelta(seconds=EVERY_S)):
        async with world.serving(agents_go_on=True):
            await begin(world)
            if first is not None:
                await first(world)
                await world.until(lambda: bool(world.said(IncidentClosed)))
                await asyncio.sleep(QUIET_S)
            await restated(world)
        meanwhile(world)
        async with world.serving():
            await asyncio.sleep(EVERY_S / 2)
            await end(world, harm)
    return world


def gist(world: World) -> list[tuple[str, object]]:
    """Return what was decided, as far as it does not depend on the moment."""
    found: dict[str, tuple[str, object]] = {}
    for message in world.stream.said:
        match message:
            case CheckpointChosen():
                found[message.id] = ("resume from", (message.step, message.path))
            case RecoveryPlanned():
                found[message.id] = (
                    "plan",
                    (message.level, message.to_generation, message.resume_step, message.because),
                )
            case JobResumed():
                found[message.id] = ("resumed", (message.level, message.lost_steps))
            case IncidentClosed():
                found[message.id] = ("closed", (message.outcome, message.category, message.levels))
            case _:
                pass
    return list(found.values())


@pytest.mark.parametrize("harm", [kill_rank_3, lose_the_second_node, delete_the_first_task])
def test_a_job_whose_beginning_is_forgotten_is_recovered_as_one_that_is_remembered(harm: Harm) -> None:
    calm = simulate(told(World(), harm, meanwhile=lambda _world: None))
    world = simulate(told(World(), harm, meanwhile=lose_everything_older))
    assert world.stream.kept > 10
    assert kinds_kept(world).isdisjoint({JobAccepted})
    assert gist(world) == gist(calm)
    assert [closed.outcome for closed in world.said(IncidentClosed)] == [Outcome.RESUMED]
    assert world.cluster.marked() == calm.cluster.marked()
    assert sorted(world.cluster.starts) == sorted(calm.cluster.starts)
    assert set(world.notices) == set(calm.notices)


def kinds_kept(world: World) -> set[type[Message]]:
    """Return the types of all messages that the stream had kept when everything older was lost."""
    return {type(message) for message in world.stream.said[world.stream.kept - 1 :]}


def test_a_budget_that_was_spent_before_is_still_spent() -> None:
    world = simulate(told(World(), kill_rank_3, meanwhile=lose_everything_older, first=kill_rank_3))
    planned = world.said(RecoveryPlanned)
    assert [each.to_generation for each in planned] == [2, 3]
    assert f"1 of 3 {BudgetClass.UNKNOWN} recoveries used" in planned[-1].because
    assert world.said(CheckpointChosen)[-1].step == SAVED


async def bring_the_lost_node_back(world: World) -> None:
    """The node that is out is ready again and released by whoever remembers why it is out; then a rank is killed."""
    (lost,) = world.cluster.lost()
    world.cluster.known[lost].ready = True
    await world.until(lambda: bool(world.said(NodeReleased)))
    assert world.cluster.marked() == set()
    await kill_rank_3(world)


def test_an_isolation_that_nobody_remembers_otherwise_still_ends_when_its_node_is_well() -> None:
    story = told(World(), bring_the_lost_node_back, meanwhile=lose_everything_older, first=lose_the_second_node)
    world = simulate(story)
    assert NodeIsolated not in kinds_kept(world)
    assert len(world.said(NodeReleased)) == 1


def test_without_a_restatement_nothing_would_be_known() -> None:
    """The stories above can fail: what the stream lost is needed."""

    def lose_restatements_too(world: World) -> None:
        lose_everything_older(world)
        world.stream.forget(len(world.stream.stored) + 1)

    async def story() -> World:
        world = World()
        with mock.patch("keepstep.runtime.restating.EVERY", timedelta(seconds=EVERY_S)):
            async with world.serving(agents_go_on=True):
                await begin(world)
                await restated(world)
            lose_restatements_too(world)
            async with world.serving():
                await kill_rank_3(world)
                await asyncio.sleep(20)
        return world

    world = simulate(story())
    assert world.said(RecoveryPlanned) == []
    assert world.said(JobDeleted) == []
