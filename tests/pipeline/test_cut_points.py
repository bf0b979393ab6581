"""Whatever service is struck at whatever step: the incident closes, once, and the same things are said and done."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts.events import (
    SAID_BY,
    DeadlinePassed,
    IncidentClosed,
    JobDeleted,
    RanksStarted,
    RecoveryFailed,
    RecoveryStarted,
    TaskLost,
)
from keepstep.contracts.taxonomy import Level, Outcome, PlanPhase, Service
from tests.pipeline.loop import simulate
from tests.pipeline.outside import Blow, Strike
from tests.pipeline.story import (
    Harm,
    cut_off_the_second_agent,
    delete_the_first_task,
    kill_a_new_rank_too,
    kill_rank_3,
    kill_two_ranks,
    lose_both_spares,
    lose_the_second_node,
    tell,
)
from tests.pipeline.world import World
from tests.share import share_of, turn
from tests.wording import slips, texts

ONE_RESTART: tuple[Harm, ...] = (
    kill_rank_3,
    kill_two_ranks,
    lose_the_second_node,
    lose_both_spares,
    delete_the_first_task,
)
STORIES = (*ONE_RESTART, kill_a_new_rank_too, cut_off_the_second_agent)
ONCE = [(1, PlanPhase.RUN), (2, PlanPhase.STOP), (2, PlanPhase.RUN), (2, PlanPhase.END)]
SHARE = 24
"""The ordinary test takes one of 24 steps."""
SLOW_SHARE = share_of(8)
"""The slow one takes one of eight, which is three minutes for all; KEEPSTEP_TEST_SHARE=1 walks every step."""


@cache
def undisturbed(harm: Harm) -> World:
    """Return the world after the story without a blow."""
    return simulate(tell(World(), harm))


def ids(world: World) -> set[tuple[str, str]]:
    """Return type and id of everything that services said, as far as that does not depend on who was faster.

    A deadline's id has its moment in it; a job is gone with the last of its tasks, whichever that is; and a
    scheduler-adapter that stood still takes what its successor removed for lost, which nobody minds.
    """
    kinds = {message.id: type(message) for message in world.stream.said}
    left_out = {DeadlinePassed, *SAID_BY["agent"], *([TaskLost] if world.zombies else [])}
    return {(kind.__name__, "" if kind is JobDeleted else name) for name, kind in kinds.items() if kind not in left_out}


def starts(world: World) -> list[tuple[int, int]]:
    """Return which generation followed on which."""
    return [(each.from_generation, each.to_generation) for each in world.said(RecoveryStarted)]


def plans(world: World) -> list[tuple[int, PlanPhase]]:
    """Return the plans there were, one for each phase of a generation."""
    different = dict.fromkeys((head.generation, head.phase, head.digest) for head in world.board.heads)
    return [(generation, phase) for generation, phase, _ in different]


def expect_generations_of_their_own(world: World) -> None:
    """No generation was stopped for, or started, twice."""
    stopped_for = [each.to_generation for each in world.said(RecoveryStarted)]
    started = [each.generation for each in world.said(RanksStarted)]
    assert stopped_for == sorted(set(stopped_for))
    assert started == sorted(set(started))


def expect_the_same(world: World, calm: World) -> None:
    """The world ended as the undisturbed one did."""
    expect_generations_of_their_own(world)
    unheeded = {each for each in ids(calm) if each[0] == TaskLost.__name__ and world.zombies}
    assert ids(world) == ids(calm) - unheeded
    assert starts(world) == starts(calm)
    assert [each.outcome for each in world.said(IncidentClosed)] == [Outcome.RESUMED]
    assert plans(world) == plans(calm)
    assert sorted(world.cluster.placements) == sorted(calm.cluster.placements)
    assert sorted(world.cluster.starts) == sorted(calm.cluster.starts)
    assert world.cluster.live() == []
    assert world.cluster.marked() == calm.cluster.marked()
    assert set(world.notices) == set(calm.notices)


def walk(harm: Harm, blow: Blow, *, share: int = 1) -> Iterator[Strike]:
    """Yield a blow at every step of every service, or a share of them."""
    for service, steps in undisturbed(harm).steps.items():
        for step in range(1, len(steps) + 1):
            if (step + len(service) + turn()) % share == 0:
                yield Strike(service, step, blow)


def struck(harm: Harm, *strikes: Strike, remembers: bool = True) -> None:
    """Tell the story with these blows and compare its end; errors name the blow."""
    calm = undisturbed(harm)
    world = World(list(strikes), remembers=remembers)
    try:
        simulate(tell(world, harm))
        expect_the_same(world, calm)
    except BaseException as error:
        error.add_note("\n".join(f"{each} at {calm.steps[each.service][each.step - 1 :][:1]}" for each in strikes))
        raise


@pytest.mark.parametrize("harm", STORIES)
def test_what_is_said_reads_well(harm: Harm) -> None:
    said = {text for message in undisturbed(harm).stream.said for text in texts(message)}
    assert [text for text in said if slips(text)] == []
    assert len(said) > 20


@pytest.mark.parametrize("harm", ONE_RESTART)
def test_without_a_blow_each_harm_is_one_restart(harm: Harm) -> None:
    calm = undisturbed(harm)
    assert (starts(calm), plans(calm)) == ([(1, 2)], ONCE)
    assert [each.outcome for each in calm.said(IncidentClosed)] == [Outcome.RESUMED]


def test_a_second_fault_before_the_first_step_is_a_second_restart_of_one_incident() -> None:
    calm = undisturbed(kill_a_new_rank_too)
    assert starts(calm) == [(1, 2), (2, 3)]
    assert [each.attempts for each in calm.said(IncidentClosed)] == [2]


def test_a_plan_that_is_given_up_for_another_keeps_its_generation_to_itself() -> None:
    calm = undisturbed(cut_off_the_second_agent)
    assert (starts(calm), [each.generation for each in calm.said(RanksStarted)]) == ([(1, 2), (1, 3)], [3])
    assert [each.level for each in calm.said(RecoveryFailed)] == [Level.IN_PLACE]
    assert [each.attempts for each in calm.said(IncidentClosed)] == [1]


def test_a_node_lost_while_nobody_plans_is_no_generation_stopped_for_twice() -> None:
    for strike in walk(lose_the_second_node, Blow.KILL, share=SHARE // 4):
        if strike.service is not Service.SCHEDULER_ADAPTER:
            continue
        world = simulate(tell(World([replace(strike, down_s=40.0)]), lose_the_second_node))
        expect_generations_of_their_own(world)
        assert [each.outcome for each in world.said(IncidentClosed)].count(Outcome.RESUMED) == 1, strike


@pytest.mark.parametrize("blow", Blow)
@pytest.mark.parametrize("harm", STORIES)
def test_a_blow_at_one_of_some_steps_changes_nothing(harm: Harm, blow: Blow) -> None:
    for strike in walk(harm, blow, share=SHARE):
        struck(harm, strike)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("blow", Blow)
@pytest.mark.parametrize("harm", STORIES)
def test_a_blow_at_any_step_changes_nothing(harm: Harm, blow: Blow) -> None:
    for strike in walk(harm, blow, share=SLOW_SHARE):
        struck(harm, strike)


@pytest.mark.parametrize("harm", [kill_rank_3, kill_a_new_rank_too])
def test_forty_seconds_without_a_service_fail_no_level(harm: Harm) -> None:
    for strike in walk(harm, Blow.KILL, share=SHARE):
        struck(harm, replace(strike, down_s=40.0))


STRIKES = st.builds(
    Strike,
    service=st.sampled_from(Service),
    step=st.integers(1, 90),
    blow=st.sampled_from(Blow),
    down_s=st.sampled_from((0.05, 0.3, 3.0)),
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(harm=st.sampled_from(STORIES), strikes=st.lists(STRIKES, min_size=2, max_size=6), remembers=st.booleans())
def test_many_blows_change_nothing_even_where_the_bus_repeats(
    harm: Harm, strikes: list[Strike], remembers: bool
) -> None:
    struck(harm, *strikes, remembers=remembers)
