"""Why a verdict isolates nothing, what the guard allows, and what an isolated node waits for."""

from datetime import timedelta

import pytest

from keepstep.contracts.events import FaultDetected, FaultDiagnosed, LossEvidence
from keepstep.contracts.ids import EventId, NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category, LossCause
from keepstep.diagnosis.finding import of_loss
from keepstep.isolator.core import Asker, Isolation, Release, Request, Way, fleet
from keepstep.isolator.core.refusals import RETURNS
from keepstep.ports.cluster import NodeStatus
from keepstep.ports.roll import Roll
from tests.isolator.story import PoolOfNodes
from tests.isolator.words import JOB, NOW, POOL, accepted, blinded, ended, node, pause, release, sighted, verdict

REFUSALS: list[tuple[str, list[Message], FaultDiagnosed, str]] = [
    ("user code", [], verdict(category=Category.USER_CODE), "a verdict of user_code by rule xid-79 isolates nothing"),
    ("unknown", [], verdict(category=Category.UNKNOWN), "a verdict of unknown by rule xid-79 isolates nothing"),
    ("not asked", [], verdict(isolate=False), "a verdict of device_hardware by rule xid-79 isolates nothing"),
    ("nobody", [], verdict(None), "rule xid-79 names no node"),
    ("disabled", [accepted(enabled=False)], verdict(), "isolation is off by policy"),
    ("pool paused", [pause()], verdict(), "actions are paused by bob"),
    ("job paused", [accepted(), pause(job=verdict().job)], verdict(), "actions are paused by bob"),
    ("dry run", [accepted(dry_run=["xid-79"])], verdict(), "dry run of rule xid-79: would isolate n1: Xid 79 on n1"),
    ("dry run of all", [accepted(dry_run=["*"])], verdict(), "dry run of rule xid-79: would isolate n1: Xid 79 on n1"),
]


@pytest.mark.parametrize(
    ("told", "message", "because"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_a_verdict_that_isolates_nothing_is_declined_at_once(
    told: list[Message], message: FaultDiagnosed, because: str
) -> None:
    pool = PoolOfNodes().tell(*told, message, message)
    (answer,) = pool.answers
    assert pool.last == ("IsolationDeclined", because)
    assert answer.cause == message.id
    assert not list(pool.stage.effects(pool.fold))


LOST = next(iter(RETURNS))


def test_while_the_detector_is_blind_no_lost_node_is_isolated_and_a_broken_device_is() -> None:
    pool = PoolOfNodes().tell(accepted(), blinded(), verdict("n1", rule=LOST, category=Category.NODE_HARDWARE))
    assert pool.last[1].startswith("the detector is blind since 2026-01-01T00:00:00.000+00:00: 6 of 10")
    pool.tell(verdict("n2"))
    assert [request.node for request in pool.fold.requests] == ["n2"]


@pytest.mark.parametrize(("told", "after"), [([blinded(), sighted()], 0.0), ([blinded()], 3600.0)])
def test_a_lost_node_is_isolated_when_the_detector_sees_or_never_said_so(told: list[Message], after: float) -> None:
    lost = verdict("n1", rule=LOST, category=Category.NODE_HARDWARE, after=after)
    pool = PoolOfNodes().tell(accepted(), *told, lost)
    assert [request.node for request in pool.fold.requests] == ["n1"]


async def test_of_many_nodes_lost_at_once_the_guard_lets_the_share_out() -> None:
    nodes = [node(f"n{i}", ready=False) for i in range(30)]
    lost = [verdict(f"n{i}", rule=LOST, category=Category.NODE_HARDWARE, incident=f"i{i}") for i in range(20)]
    pool = await PoolOfNodes(*nodes).tell(accepted(nodes=30, storm_count=100), *lost).act()
    assert len(pool.answers) == 20
    assert len(pool.fleet.cordons) == 3


def test_a_dry_run_says_that_it_is_one() -> None:
    (answer,) = PoolOfNodes().tell(accepted(dry_run=["*"]), verdict()).answers
    assert answer.model_dump()["dry_run"] is True


def fenced(nodes: list[NodeStatus], *, share: float = 0.1, asker: Asker = Asker.RULE) -> str:
    """Return why n1 may not be cordoned, or ""."""
    request = Request(origin=verdict(), node=nodes[0].name, asker=asker, by="x", reason="r")
    policy = request.policy.model_copy(update={"fleet_share": share})
    judged = fleet.judge_fence(Roll(nodes).census, request.model_copy(update={"policy": policy}))
    return judged.because if isinstance(judged, fleet.Refuse) else ""


@pytest.mark.parametrize(
    ("size", "out", "share", "allowed"),
    [(1, 0, 0.0, True), (2, 0, 0.1, True), (2, 1, 0.1, False), (20, 1, 0.1, True), (20, 2, 0.1, False)],
)
def test_the_guard_lets_out_one_or_the_share(size: int, out: int, share: float, allowed: bool) -> None:
    nodes = [node(f"n{i}", by="keepstep" if 1 <= i <= out else None) for i in range(size)]
    assert (fenced(nodes, share=share) == "") is allowed


def test_the_guard_counts_a_group_by_itself() -> None:
    nodes = [node(f"n{i}", group="rack-1" if i < 4 else "rack-2") for i in range(30)]
    nodes[1] = node("n1", group="rack-1", by="keepstep")
    assert fenced(nodes) == "guard: 1 of 4 nodes of the group rack-1 out, at most 1 may be"
    assert fenced(nodes[4:] + nodes[:4]) == ""


def test_the_guard_does_not_hold_a_person_back() -> None:
    assert fenced([node("n1"), node("n2", by="keepstep")], asker=Asker.PERSON) == ""


@pytest.mark.parametrize("asker", Asker)
def test_a_foreign_cordon_is_left_as_it_is(asker: Asker) -> None:
    assert fenced([node("n1", by="kured")], asker=asker) == "n1 is cordoned by kured: left as it is"


def test_the_guard_of_a_job_counts_what_is_asked_for_already() -> None:
    pool = PoolOfNodes().tell(accepted(nodes=2), verdict("n1"), verdict("n2"))
    assert pool.last == ("IsolationDeclined", "guard: 1 of 2 nodes of the job out, at most 1 may be")


def test_a_storm_is_held_for_a_person() -> None:
    told = [verdict(f"n{i}", incident=f"i{i}") for i in range(6)]
    pool = PoolOfNodes().tell(accepted(nodes=1000), *told)
    (answer,) = pool.answers
    assert pool.last[1] == "held for a person: 5 isolations in 600 s, limit 5"
    assert (answer.cause, answer.model_dump()["held"]) == (told[5].id, True)
    assert [request.node for request in pool.fold.requests] == [f"n{i}" for i in range(5)]
    assert PoolOfNodes().tell(accepted(enabled=False), verdict()).answers[0].model_dump()["held"] is False


async def test_a_storm_is_over_once_its_window_is() -> None:
    told = [verdict(f"n{i}", incident=f"i{i}", after=601 * (i == 6)) for i in range(7)]
    pool = await PoolOfNodes(*(node(f"n{i}") for i in range(100))).tell(accepted(nodes=1000), *told[:5]).act()
    await pool.tell(*told[5:]).act()
    assert pool.fleet.cordons == ["n0", "n1", "n2", "n3", "n4", "n6"]
    assert [answer.node for answer in pool.answers] == ["n0", "n1", "n2", "n3", "n4", "n5", "n6"]


def test_the_rule_of_a_lost_node_is_the_one_that_lets_it_return() -> None:
    evidence = LossEvidence(by=LossCause.NODE_LOST, proven=True)
    fault = FaultDetected(
        id=EventId("f"), time=NOW, pool=POOL, subject_name="task", occurred=NOW, evidence=evidence, because="b"
    )
    assert of_loss(fault, evidence).rule in RETURNS


MARKED = [node("n1", by="keepstep")]
TENDED: list[tuple[str, list[NodeStatus], Way, float, type]] = [
    ("not ready long enough", MARKED, Way.RETURNING, 59, fleet.Keep),
    ("ready long enough", MARKED, Way.RETURNING, 60, fleet.Uncordon),
    ("held", MARKED, Way.HELD, 600, fleet.Keep),
    ("not ready any more", [node("n1", by="keepstep", ready=False)], Way.RETURNING, 600, fleet.Turned),
    ("gone", [], Way.RETURNING, 600, fleet.Turned),
    ("gone when it expires", [], Way.RETURNING, 900, fleet.Ended),
    ("gone and held when it expires", [], Way.HELD, 900, fleet.Turned),
    ("back and not ready when it expires", [node("n1", by="keepstep", ready=False)], Way.RETURNING, 900, fleet.Turned),
    ("uncordoned by hand", [node("n1")], Way.HELD, 0, fleet.Ended),
    ("taken over", [node("n1", by="kured")], Way.RETURNING, 600, fleet.Ended),
]


@pytest.mark.parametrize(("nodes", "way", "ready_s", "kind"), [row[1:] for row in TENDED], ids=[r[0] for r in TENDED])
def test_what_becomes_of_an_isolated_node(nodes: list[NodeStatus], way: Way, ready_s: float, kind: type) -> None:
    isolation = Isolation(
        origin=verdict(),
        node=NodeName("n1"),
        asker=Asker.RULE,
        by="rule r",
        reason="r",
        category=Category.NODE_HARDWARE,
        way=way,
        since=NOW,
        until=NOW + timedelta(seconds=900),
        attempt=1,
        release_after=timedelta(seconds=60),
        ready_since=NOW,
    )
    now = NOW + timedelta(seconds=ready_s)
    assert isinstance(fleet.judge_tend(nodes[0] if nodes else None, isolation, now=now), kind)


def test_a_node_that_left_the_cluster_can_be_released_where_keepstep_isolated_it() -> None:
    free = Release(origin=release("n1"), node=NodeName("n1"), because="asked for by alice")
    assert isinstance(fleet.judge_free(Roll().census, free), fleet.Ended)
    assert isinstance(fleet.judge_free(Roll().census, free.model_copy(update={"isolated": False})), fleet.Refuse)


def test_a_pause_of_a_job_that_is_over_leaves_nothing_behind() -> None:
    pool = PoolOfNodes().tell(accepted(), ended(), pause(job=JOB))
    assert (pool.fold.paused, pool.fold.jobs) == ({}, {})
