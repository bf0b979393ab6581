"""Every verdict and order gets one answer, what was isolated comes back, and foreign cordons stay."""

import asyncio
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts.events import IncidentClosed, IsolationDeclined, NodeIsolated, NodeRecovered, NodeRelapsed
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category
from keepstep.isolator.core import Tend
from keepstep.isolator.core.refusals import RETURNS
from keepstep.ports.cluster import CordonMark
from tests.isolator.story import PoolOfNodes
from tests.isolator.words import NOW, accepted, isolate, node, pause, release, resume, verdict

LOST = next(iter(RETURNS))


async def test_a_blamed_node_is_cordoned_and_the_verdict_answered_once() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict(), verdict()).act()
    (answer,) = pool.answers
    assert isinstance(answer, NodeIsolated)
    assert (answer.cause, answer.node, answer.incident) == (verdict().id, "n1", "incident-1")
    assert pool.last == ("NodeIsolated", "device_hardware: Xid 79 on n1; 1 of 2 nodes out")
    mark = pool.fleet.by_name[verdict().verdict.culprit.node].mark  # type: ignore[union-attr, index]
    assert mark == CordonMark("keepstep", "device_hardware: Xid 79 on n1 (by rule xid-79)", NOW, verdict().incident)
    assert answer.until is not None
    assert (answer.until - NOW).days == 7


async def test_an_effect_done_again_after_a_crash_gives_the_same_answer() -> None:
    pool = PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict())
    (effect,) = pool.stage.effects(pool.fold)
    first, second = list(await pool.stage.act(effect)), list(await pool.stage.act(effect))
    assert first == second
    assert pool.fleet.cordons == ["n1"]


async def test_two_requests_at_once_do_not_both_pass_the_guard() -> None:
    told = [verdict("n1", incident="a"), verdict("n2", incident="b")]
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), *told).act()
    assert sorted(type(one).__name__ for one in pool.answers) == ["IsolationDeclined", "NodeIsolated"]
    assert len(pool.fleet.cordons) == 1


async def test_a_second_verdict_on_an_isolated_node_is_declined() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict()).act()
    pool.tell(verdict(incident="b"))
    assert pool.last[0] == "IsolationDeclined"
    assert pool.last[1].startswith("n1 is already isolated since 2026-01-01T00:00:00.000+00:00")


async def test_a_cordon_that_somebody_else_sets_meanwhile_is_left_as_it_is() -> None:
    pool = PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict())
    seen = await pool.fleet.nodes()
    pool.fleet.put("n1", mark=CordonMark("kured", "reboot", NOW))

    async def stale() -> tuple[object, ...]:
        return seen

    pool.fleet.nodes = stale  # type: ignore[method-assign, assignment]
    await pool.act()
    assert pool.last == ("IsolationDeclined", "node n1 is cordoned by kured: left as it is")


async def test_a_node_that_is_not_there_is_declined() -> None:
    pool = await PoolOfNodes(node("n2")).tell(accepted(), verdict()).act()
    assert pool.last == ("IsolationDeclined", "n1 is not in this cluster of 1 node")


async def test_a_lost_node_is_released_once_it_is_back_and_ready() -> None:
    lost = verdict(rule=LOST, category=Category.NODE_HARDWARE)
    pool = await PoolOfNodes(node("n1", ready=False), node("n2"), tick=10).tell(accepted(release_after=60), lost).act()
    await pool.watch()
    assert pool.last[0] == "NodeIsolated"
    told = pool.said[-1]
    assert isinstance(told, NodeIsolated)
    assert (told.when_ready, told.release_after) == (True, timedelta(seconds=60))
    pool.fleet.turn("n1", ready=True)
    await pool.watch()
    assert pool.last == (
        "NodeReleased",
        f"n1 was ready for 60.0 s, 60.0 s asked (node_hardware: {lost.verdict.because})",
    )
    assert pool.fleet.by_name[node("n1").name].mark is None
    assert not pool.fold.isolations


async def test_the_time_a_node_must_stay_ready_goes_on_over_a_restart_and_anew_after_a_relapse() -> None:
    lost = verdict(rule=LOST, category=Category.NODE_HARDWARE)
    pool = await PoolOfNodes(node("n1"), node("n2"), tick=10).tell(accepted(release_after=60), lost).act()
    await pool.watch(looks=5)
    assert [type(one) for one in pool.said[-1:]] == [NodeRecovered]
    recovered = pool.said[-1]
    await pool.watch(looks=5)
    assert pool.last[0] == "NodeReleased"
    assert pool.said[-1].time - recovered.time == timedelta(seconds=70)

    again = await PoolOfNodes(node("n1"), node("n2"), tick=10).tell(accepted(release_after=60), lost).act()
    await again.watch(looks=5)
    again.fleet.turn("n1", ready=False)
    await again.watch(looks=5)
    again.tell(recovered)
    assert again.fold.isolations[node("n1").name].ready_since is None
    again.fleet.turn("n1", ready=True)
    await again.watch(looks=5)
    assert [type(one) for one in again.said[-3:]] == [NodeRecovered, NodeRelapsed, NodeRecovered]
    assert len({one.id for one in again.said[-3:]}) == 3


async def test_other_isolations_are_held_until_they_expire_and_the_node_is_healthy() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2"), tick=10).tell(accepted(), verdict()).act()
    await pool.watch()
    assert pool.last[0] == "NodeIsolated"
    pool.tell(pool.passed())
    await pool.watch()
    assert pool.last[0] == "NodeReleased"
    assert "expired" in pool.last[1]


async def test_a_deadline_of_an_isolation_that_is_over_changes_nothing() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict()).act()
    late = pool.passed()
    await pool.tell(release("n1")).act()
    before = pool.fold
    assert pool.tell(late).fold == before
    await pool.tell(verdict(incident="later", after=60)).act()
    before = pool.fold
    assert pool.tell(late).fold == before


async def test_a_cordon_taken_away_by_hand_is_respected() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict()).act()
    pool.fleet.put("n1", mark=None)
    await pool.watch()
    assert pool.last == ("NodeReleased", "uncordoned by hand")
    assert pool.fleet.cordons == ["n1"]


async def test_a_person_isolates_past_the_guard_and_without_expiry() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict(), isolate("n2")).act()
    answer = pool.answers[-1]
    assert isinstance(answer, NodeIsolated)
    assert (answer.node, answer.until, answer.because) == ("n2", None, "asked for by alice: smells")


async def test_a_person_takes_over_what_a_rule_isolated() -> None:
    lost = verdict(rule=LOST, category=Category.NODE_HARDWARE)
    pool = await PoolOfNodes(node("n1"), node("n2"), tick=100).tell(accepted(), lost).act()
    await pool.tell(isolate("n1")).act()
    await pool.watch()
    assert pool.last == ("NodeIsolated", "asked for by alice: smells")
    assert pool.fold.isolations[node("n1").name].by == "alice"


async def test_a_person_releases_at_once() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict()).act()
    order = release("n1").model_copy(update={"reason": "new fan"})
    await pool.tell(order).act()
    assert pool.last == ("NodeReleased", "asked for by alice: new fan")
    assert pool.said[-1].cause == order.id
    assert pool.fleet.by_name[node("n1").name].mark is None


async def test_a_release_right_behind_a_verdict_waits_for_its_answer_and_the_other_way_round() -> None:
    behind = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict(), release("n1")).act()
    assert (behind.fold.isolations, behind.fleet.cordons) == ({}, ["n1"])
    assert behind.fleet.by_name[node("n1").name].mark is None
    before = await PoolOfNodes(node("n1"), node("n2")).tell(release("n1"), isolate("n1")).act()
    assert set(before.fold.isolations) == {"n1"}
    assert before.fleet.by_name[node("n1").name].mark is not None


async def test_a_foreign_cordon_is_not_released() -> None:
    pool = await PoolOfNodes(node("n1", by="kured")).tell(release("n1")).act()
    assert pool.last == ("ReleaseDeclined", "n1 is cordoned by kured, who alone may release it")


async def test_the_first_verdicts_node_is_released_when_a_revision_blames_another() -> None:
    first, second = verdict("n1"), verdict("n2", revision=1)
    pool = await PoolOfNodes(*(node(f"n{i}") for i in range(1, 30))).tell(accepted(), first).act()
    await pool.tell(second).act()
    assert set(pool.fold.isolations) == {"n2"}
    assert [one.cause for one in pool.answers] == [first.id, second.id]
    both = await PoolOfNodes(*(node(f"n{i}") for i in range(1, 30))).tell(accepted(), first, second).act()
    assert set(both.fold.isolations) == {"n2"}


async def test_a_paused_pool_releases_nothing_by_itself() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(accepted(), verdict()).act()
    assert [type(one) for one in pool.stage.effects(pool.fold)] == [Tend]
    assert not list(pool.stage.effects(pool.tell(pause()).fold))
    assert [type(one) for one in pool.stage.effects(pool.tell(resume()).fold)] == [Tend]


async def test_an_incident_without_a_job_is_closed_here() -> None:
    pool = await PoolOfNodes(node("n1"), node("n2")).tell(verdict(job=None)).act()
    assert not [one for one in pool.said if isinstance(one, IncidentClosed)]
    await pool.tell(release("n1")).act()
    (closed,) = [one for one in pool.said if isinstance(one, IncidentClosed)]
    assert (closed.incident, closed.outcome) == ("incident-1", "cleared")
    declined = PoolOfNodes().tell(verdict(job=None, isolate=False))
    assert [type(one) for one in declined.said] == [IsolationDeclined, IncidentClosed]


ASKS: list[Message] = [verdict(f"n{i}", incident=f"i{i % 3}", revision=i % 2) for i in range(8)]
ASKS += [isolate("n1"), isolate("n5")]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.sampled_from([*ASKS, release("n1"), pause(), resume()]), st.none()), max_size=24))
def test_any_order_and_any_duplicates_give_one_answer_per_ask(story: list[Message | None]) -> None:
    """None stands for a moment in which the effects get done."""
    pool = PoolOfNodes(*(node(f"n{i}") for i in range(40))).tell(accepted())

    async def told() -> None:
        for message in story:
            if message is None:
                await pool.act()
            else:
                pool.tell(message)
        await pool.act()

    asyncio.run(told())
    asked = {one.id for one in story if one is not None and one in ASKS}
    causes = [one.cause for one in pool.answers]
    assert sorted(causes, key=str) == sorted(asked)
    marked = {one.name for one in pool.fleet.by_name.values() if one.mark is not None}
    assert marked == set(pool.fold.isolations)
