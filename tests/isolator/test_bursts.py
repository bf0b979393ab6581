"""Many nodes lost in one moment: cordons go out together under one guard, and whoever tends them shares the looks."""

import asyncio

from keepstep.contracts.events import NodeIsolated, NodeRecovered
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Category
from keepstep.isolator.core import Tend
from keepstep.isolator.core.refusals import RETURNS
from keepstep.isolator.hand import AT_ONCE
from keepstep.isolator.looks import Looks
from keepstep.ports.cluster import CordonMark, NodeStatus
from tests.isolator.story import Fleet, PoolOfNodes, accepted, node, verdict

LOST = next(iter(RETURNS))


class SlowFleet(Fleet):
    """A fleet whose cordons take a while, and which knows how many were under way together."""

    under_way = 0
    most = 0

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        for _ in range(50):
            await asyncio.sleep(0)
        await super().cordon(node, mark)
        self.under_way -= 1


def pool_of(lost: int, *, fleet: int) -> PoolOfNodes:
    """Return a pool of which so many nodes are lost, each with an incident of its own."""
    pool = PoolOfNodes(*(node(f"n{at}", ready=at >= lost) for at in range(fleet)))
    verdicts = [verdict(f"n{at}", rule=LOST, category=Category.NODE_HARDWARE, incident=f"i{at}") for at in range(lost)]
    return pool.tell(accepted(nodes=fleet, storm_count=1000), *verdicts)


async def test_cordons_of_a_burst_go_out_together_and_the_guard_counts_those_under_way() -> None:
    pool = pool_of(40, fleet=300)
    slow = pool.put(SlowFleet(*pool.fleet.by_name.values()))
    await pool.act()
    assert 1 < slow.most <= AT_ONCE
    assert len(pool.answers) == 40
    assert len(slow.cordons) == 30
    assert sum(isinstance(one, NodeIsolated) for one in pool.answers) == 30


async def test_those_who_tend_many_nodes_share_a_look() -> None:
    pool = await pool_of(20, fleet=300).act()
    for at in range(20):
        pool.fleet.turn(f"n{at}", ready=True)
    pool.fleet.looks = 2
    tends = [one for one in pool.stage.effects(pool.fold) if isinstance(one, Tend)]
    said = await asyncio.gather(*(pool.stage.act(one) for one in tends))
    assert [type(message) for messages in said for message in messages] == [NodeRecovered] * 20


class HeldFleet(Fleet):
    """A fleet that is read at once and answers when it is let."""

    def __init__(self, *nodes: NodeStatus) -> None:
        super().__init__(*nodes)
        self.read, self.let = asyncio.Event(), asyncio.Event()

    async def nodes(self) -> tuple[NodeStatus, ...]:
        seen = await super().nodes()
        self.read.set()
        await self.let.wait()
        return seen


async def test_a_look_under_way_is_too_old_for_who_comes_after_it() -> None:
    """A node that was cordoned meanwhile would seem to have been uncordoned by hand."""
    fleet = HeldFleet(node("n1"))
    looks = Looks(fleet)
    early = asyncio.create_task(looks.newer(looks.begun))
    await asyncio.wait_for(fleet.read.wait(), 20)
    await fleet.cordon(NodeName("n1"), CordonMark("keepstep", "r", accepted().time))
    late = asyncio.create_task(looks.newer(looks.begun))
    fleet.let.set()
    assert (await early).nodes[NodeName("n1")].mark is None
    assert (await late).nodes[NodeName("n1")].mark is not None
