"""Pods of others leave an isolated node only where the policy says so, within their budgets, and not for ever."""

import pytest

from keepstep.contracts.events import NodeDrained
from keepstep.contracts.ids import NodeName
from keepstep.contracts.orders import DrainNode
from keepstep.isolator.core import Empty
from keepstep.ports.cluster import Stay
from keepstep.ports.errors import Permanent
from tests.isolator.doubles import Others
from tests.isolator.story import PoolOfNodes
from tests.isolator.words import NOW, POOL, accepted, node, release, verdict

NODES = (node("n1"), node("n2"))


def drain() -> DrainNode:
    return DrainNode.model_validate(
        {"id": "drain", "time": NOW, "pool": POOL, "node": "n1", "by": "alice", "reason": "new disk"}
    )


def drained(pool: PoolOfNodes) -> NodeDrained:
    (said,) = [one for one in pool.said if isinstance(one, NodeDrained)]
    return said


async def test_an_isolated_node_keeps_the_pods_of_others_by_default() -> None:
    others = Others(stubborn=True)
    pool = await PoolOfNodes(*NODES, others=others).tell(accepted(), verdict()).act()
    await pool.empty()
    assert others.asked == 0


async def test_pods_are_asked_again_until_their_budget_lets_them_go() -> None:
    others = Others(askings=3)
    pool = await PoolOfNodes(*NODES, others=others).tell(accepted(drain="evict", drain_deadline=0.01), verdict()).act()
    await pool.empty()
    assert others.asked == 4
    assert drained(pool).left == ()
    assert not [one for one in pool.stage.effects(pool.fold) if isinstance(one, Empty)]


@pytest.mark.parametrize(("drain", "driven"), [("evict", 0), ("force", 1)])
async def test_what_is_left_at_the_deadline_stays_or_is_driven_out_by_policy(drain: str, driven: int) -> None:
    others = Others(stubborn=True)
    pool = PoolOfNodes(*NODES, others=others).tell(accepted(drain=drain, drain_deadline=0), verdict())
    await (await pool.act()).empty()
    said = drained(pool)
    assert said.left == ("default/web-0: budget web is spent",)
    assert said.forced is bool(driven)
    assert len(others.driven_out) == driven
    assert said.because.startswith("1 pod did not leave by 2026-01-01T00:00:00.000+00:00; ")


async def test_a_person_who_drains_a_node_moves_the_pods_of_others_too() -> None:
    others = Others()
    pool = await PoolOfNodes(*NODES, others=others).tell(drain()).act()
    await pool.empty()
    assert drained(pool).because == "nothing of others is left there"


async def test_a_node_that_is_released_is_not_emptied_any_more() -> None:
    pool = await PoolOfNodes(*NODES, others=Others(stubborn=True)).tell(accepted(drain="evict"), verdict()).act()
    assert [one for one in pool.stage.effects(pool.fold) if isinstance(one, Empty)]
    await pool.tell(release("n1")).act()
    assert not [one for one in pool.stage.effects(pool.fold) if isinstance(one, Empty)]


class Forbidden(Others):
    async def evict(self, node: NodeName, *, why: str) -> tuple[Stay, ...]:
        raise Permanent(f"pods of {node} may not be listed for {why}")


async def test_a_drain_that_the_cluster_forbids_ends_and_says_why() -> None:
    pool = await PoolOfNodes(*NODES, others=Forbidden()).tell(drain()).act()
    await pool.empty()
    assert drained(pool).because == "not drained: pods of n1 may not be listed for drain: drain: new disk"
    assert drained(pool).left
