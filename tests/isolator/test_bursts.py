"""Many nodes lost in one moment: cordons go out together under one guard, and whoever tends them shares the looks."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace

from keepstep.contracts.events import IsolationDeclined, NodeIsolated, NodeRecovered
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Category
from keepstep.isolator.core import Fence, Tend
from keepstep.isolator.core.refusals import RETURNS
from keepstep.isolator.hand import AT_ONCE
from keepstep.isolator.looks import Looks
from keepstep.ports.cluster import Census, CordonMark, NodeStatus
from keepstep.ports.roll import Roll
from tests.isolator.doubles import Fleet
from tests.isolator.story import PoolOfNodes
from tests.isolator.words import accepted, node, verdict

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


class Counting(Mapping[NodeName, NodeStatus]):
    """Nodes that count how often one of them is looked at."""

    def __init__(self, nodes: Mapping[NodeName, NodeStatus]) -> None:
        self.nodes, self.seen = dict(nodes), 0

    def __getitem__(self, name: NodeName) -> NodeStatus:
        self.seen += 1
        return self.nodes[name]

    def __iter__(self) -> Iterator[NodeName]:
        self.seen += len(self.nodes)
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)


class Followed(Fleet):
    """A big fleet that is followed: its census is kept, not taken."""

    def __init__(self, *nodes: NodeStatus) -> None:
        super().__init__(*nodes)
        roll = Roll(nodes).census
        self.counting = Counting(roll.nodes)
        self.kept, self.marks = Census(self.counting, roll.marked, roll.groups), set(roll.marked)

    async def census(self) -> Census:
        return replace(self.kept, marked=self.marks)

    def put(self, name: str, *, mark: CordonMark | None) -> None:
        super().put(name, mark=mark)
        self.counting.nodes[NodeName(name)] = self.by_name[NodeName(name)]
        self.marks.add(NodeName(name))


async def test_judging_a_burst_looks_at_what_is_out_and_never_through_the_fleet() -> None:
    lost, fleet = 100, 2_000
    pool = pool_of(lost, fleet=fleet)
    followed = pool.put(Followed(*pool.fleet.by_name.values()))
    await pool.act()
    assert sum(isinstance(one, NodeIsolated) for one in pool.answers) == lost
    assert followed.counting.seen <= lost * (lost + 4), "at each judgement its node, and those that are out"


class HeldFleet(Fleet):
    """A fleet that is read at once and answers when it is let."""

    def __init__(self, *nodes: NodeStatus) -> None:
        super().__init__(*nodes)
        self.read, self.let = asyncio.Event(), asyncio.Event()
        self.cordoning, self.may_cordon = asyncio.Event(), asyncio.Event()

    async def nodes(self) -> tuple[NodeStatus, ...]:
        seen = await super().nodes()
        self.read.set()
        await self.let.wait()
        return seen

    async def cordon(self, node: NodeName, mark: CordonMark) -> None:
        self.cordoning.set()
        await self.may_cordon.wait()
        await super().cordon(node, mark)


async def test_the_guard_counts_a_node_whose_cordon_ends_while_another_is_looked_at() -> None:
    """The look began before the cordon was there to be seen, and ended when it was under way no more."""
    fleet = HeldFleet(*(node(f"n{at}", ready=False) for at in range(10)))
    pool = PoolOfNodes()
    pool.put(fleet)
    pool.tell(accepted(nodes=10, storm_count=100), *(verdict(f"n{at}", incident=f"i{at}") for at in range(2)))
    first, second = [one for one in pool.stage.effects(pool.fold) if isinstance(one, Fence)]
    fleet.let.set()
    cordoning = asyncio.ensure_future(pool.stage.act(first))
    await asyncio.wait_for(fleet.cordoning.wait(), 20)
    fleet.let.clear()
    fleet.read.clear()
    judging = asyncio.ensure_future(pool.stage.act(second))
    await asyncio.wait_for(fleet.read.wait(), 20)
    fleet.may_cordon.set()
    (isolated,) = await asyncio.wait_for(cordoning, 20)
    assert isinstance(isolated, NodeIsolated)
    fleet.let.set()
    (declined,) = await asyncio.wait_for(judging, 20)
    assert isinstance(declined, IsolationDeclined)
    assert declined.because == "guard: 1 of 10 nodes of the fleet out, at most 1 may be"


async def test_a_look_under_way_is_too_old_for_who_comes_after_it() -> None:
    """A node that was cordoned meanwhile would seem to have been uncordoned by hand."""
    fleet = HeldFleet(node("n1"))
    looks = Looks(fleet)
    early = asyncio.create_task(looks.newer(looks.begun))
    await asyncio.wait_for(fleet.read.wait(), 20)
    fleet.may_cordon.set()
    await fleet.cordon(NodeName("n1"), CordonMark("keepstep", "r", accepted().time))
    late = asyncio.create_task(looks.newer(looks.begun))
    fleet.let.set()
    assert (await early).census.nodes[NodeName("n1")].mark is None
    assert (await late).census.nodes[NodeName("n1")].mark is not None
