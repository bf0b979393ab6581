"""Reports that wait to be brought on while a flood passes: none is lost, and those that hurt jobs go first."""

import asyncio
from types import SimpleNamespace
from typing import Any

from keepstep.contracts.events import ReportPlaced
from keepstep.contracts.message import Message
from keepstep.detector.app import AT_ONCE, stage
from keepstep.detector.core import effects
from keepstep.detector.core.nodes import HELD, MAX_WAITING, bring
from keepstep.detector.core.state import NodeFold, Report
from tests.detector.facts import JOB, World, node, recovered, running
from tests.detector.test_reports import bring_on, public, report


def waiting(world: World, index: int = 1) -> tuple[Report, ...]:
    fold = world.folds[node(index)].of
    assert isinstance(fold, NodeFold)
    return fold.reports


def test_hundreds_of_reports_of_the_same_push_no_other_out_and_the_newest_of_them_stays() -> None:
    world = World()
    world.hear(public("other", device="0"))
    world.hear(*(public(f"same {at}", device="1") for at in range(2 * MAX_WAITING)))
    same = [public(f"same {at}", device="1").id for at in (0, 2 * MAX_WAITING - 1)]
    assert [each.id for each in waiting(world)] == [public("other", device="0").id, *same]
    bring_on(world)
    bring_on(world)
    assert {fault.evidence.device for fault in world.faults if fault.evidence.kind == "device"} == {"0", "1"}
    assert not waiting(world)


def test_what_came_went_and_came_again_while_it_waited_is_brought_on_in_its_turns() -> None:
    world = World()
    turns = [True, True, True, False, False, False, True]
    world.hear(*(public(f"turn {at}", device="1", active=active) for at, active in enumerate(turns)))
    assert [each.active for each in waiting(world)] == [True, True, False, True]


def test_the_end_of_a_fault_is_not_on_its_way_before_its_beginning_was_brought_on() -> None:
    """Reports that hurt no job wait longer: once a job came between the two, and its fault stayed open for ever."""
    world = World()
    world.hear(public("on", device="1"), public("off", device="1", active=False), public("on too", device="2"))
    turns = []
    for _ in range(3):
        turns.append([relay.report.id for relay in effects(world.folds[node(1)])])
        bring_on(world)
    on, off = public("on", device="1"), public("off", device="1", active=False)
    assert turns == [[on.id, public("on too", device="2").id], [off.id], []]


def test_a_report_that_nobody_could_take_holds_back_later_ones_of_its_thing_for_no_longer_than_an_outage() -> None:
    """One dead letter, and whatever was reported of that device afterwards waited behind it for ever."""
    world = World()
    world.hear(public("buried", device="1"))
    world.now += HELD / 2
    world.hear(public("off", device="1", active=False))
    assert [relay.report.id for relay in effects(world.folds[node(1)])] == [public("buried", device="1").id]
    world.now += HELD
    later = public("later", device="1")
    world.hear(later)
    passing = [relay for relay in effects(world.folds[node(1)]) if relay.report.id == later.id]
    world.hear(*(placed for relay in passing for placed in bring(relay, world.jobs)))
    assert not waiting(world), "what is passed is no news any more"
    assert [fault.evidence.kind for fault in world.faults] == ["device"]


def test_a_report_that_hurts_a_job_is_not_behind_hundreds_that_hurt_none() -> None:
    async def told() -> list[ReportPlaced]:
        world, said, going = running(), list[Message](), asyncio.Event()
        world.hear(*(public(f"idle {at}", 100 + at) for at in range(10 * AT_ONCE)))
        world.hear(report(1))

        async def say(message: Message) -> None:
            said.append(message)
            if message.node != node(1):
                await going.wait()

        context: Any = SimpleNamespace(folds=lambda: world.folds, say=say)
        act = stage(context).act
        wanted = [one for fold in list(world.folds.values()) for one in effects(fold)]
        tasks = [asyncio.ensure_future(act(one)) for one in sorted(wanted, key=lambda one: one.node == node(1))]
        for _ in range(20):
            await asyncio.sleep(0)
        before = [message for message in said if isinstance(message, ReportPlaced) and message.node == node(1)]
        going.set()
        await asyncio.gather(*tasks)
        assert len({message.node for message in said}) == 10 * AT_ONCE + 1
        return before

    assert [placed.job for placed in asyncio.run(told())] == [JOB, None]


def test_a_job_that_came_while_a_report_waited_for_its_turn_is_told_of_it() -> None:
    async def told() -> list[Message]:
        world, said, going = World(), list[Message](), asyncio.Event()
        folds = world.folds
        world.hear(*(public(f"idle {at}", 100 + at) for at in range(AT_ONCE)), report(1))

        async def say(message: Message) -> None:
            said.append(message)
            await going.wait()

        context: Any = SimpleNamespace(folds=lambda: folds, say=say)
        made = stage(context)
        wanted = [one for fold in list(folds.values()) for one in effects(fold)]
        tasks = [asyncio.ensure_future(made.act(one)) for one in wanted]
        for _ in range(20):
            await asyncio.sleep(0)
        started = running()
        made.fold_key(recovered(2)[0])
        folds[JOB.uid] = started.folds[JOB.uid]
        going.set()
        await asyncio.gather(*tasks)
        return [message for message in said if message.node == node(1)]

    assert [message.job for message in asyncio.run(told())] == [JOB, None]
