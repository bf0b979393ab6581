"""A node as the cluster has it: lost with or without a task, isolated besides, and as it is after a release."""

from keepstep.cli.nodes import ListedNode
from keepstep.console.board import Board, FaultFilter
from keepstep.console.views import FaultSource
from keepstep.contracts import events as e
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import LossCause
from keepstep.ports.cluster import CordonMark, NodeStatus
from tests.console.pages.site import Site
from tests.console.said import began, heard, now, say

N1, N3 = NodeName("n1"), NodeName("n3")


def mark(second: float = 10, owner: str = "keepstep") -> CordonMark:
    return CordonMark(owner=owner, reason="fan is loud", at=now(second))


def fleet(**nodes: NodeStatus) -> dict[NodeName, NodeStatus]:
    return {NodeName(name): status for name, status in nodes.items()}


def test_a_lost_node_without_a_task_is_shown_in_the_listing_the_faults_and_the_overview() -> None:
    """Nothing is said on the bus of a node on which no job runs: it was nowhere but in the cluster's own listing."""
    model = heard(*began())
    assert model.fleet(fleet(n3=NodeStatus(N3, ready=False)), now(20))
    board = Board(model)
    row = next(row for row in board.nodes() if row.node == N3)
    assert (row.state, row.because, row.active_faults) == ("lost", "the cluster does not have it ready", 1)
    (fault,) = board.faults(FaultFilter(active=True)).items
    assert (fault.source, fault.code, fault.node, fault.first) == (FaultSource.NODE, LossCause.NODE_LOST, N3, now(20))
    assert board.overview(now(30)).lost_nodes == 1


def test_a_node_s_last_fault_is_told_whatever_found_it() -> None:
    """A report of hardware counted as a fault of the node, and the time of its last fault stayed empty."""
    model = heard(
        *began(),
        say(e.NodeReported, 40, job=None, node=N3, condition="DiskPressure", text="/var is 96 % full"),
        say(e.DeviceReported, 41, job=None, node=N3, device="5", code="XID 79", text="fell off the bus"),
    )
    (row,) = (row for row in Board(model).nodes() if row.node == N3)
    view = Board(model).node(N3)
    assert view is not None
    assert (row.faults, row.last_fault, view.last_fault) == (2, now(41), now(41))


def test_a_lost_node_is_one_fault_until_the_cluster_has_it_ready_again() -> None:
    model = heard(*began())
    for second in (20, 25, 30):
        model.fleet(fleet(n1=NodeStatus(N1, ready=False)), now(second))
    model.hear(say(e.NodeReleased, 31, job=None, node=N1, because="asked for"), 99)
    (fault,) = Board(model).faults().items
    assert (fault.active, fault.first, [one.ranks for one in fault.hurt]) == (True, now(20), [(0, 1)])
    assert model.fleet(fleet(n1=NodeStatus(N1, ready=True)), now(40))
    (fault,) = Board(model).faults().items
    assert (fault.active, fault.ended) == (False, now(40))


def test_lost_and_isolated_are_both_shown() -> None:
    model = heard(say(e.NodeIsolated, 10, job=None, node=N3, reason="r", because="its fan is loud"))
    model.fleet(fleet(n3=NodeStatus(N3, ready=False, mark=mark())), now(20))
    (row,) = Board(model).nodes()
    assert row.states == ("lost", "isolated")
    assert row.because == "the cluster does not have it ready; its fan is loud"
    overview = Board(model).overview(now(20))
    assert (overview.lost_nodes, overview.isolated_nodes) == (1, 1)


def test_a_released_node_is_not_isolated_by_a_mark_that_was_seen_before() -> None:
    """The badge said isolated until the cluster was looked at again, seconds after the release was told."""
    isolated = say(e.NodeIsolated, 10, job=None, node=N3, reason="r", because="b")
    model = heard(isolated)
    model.fleet(fleet(n3=NodeStatus(N3, ready=True, mark=mark(9))), now(20))
    model.hear(say(e.NodeReleased, 25, job=None, node=N3, because="asked for"), 99)
    assert [row.states for row in Board(model).nodes()] == [("ready",)]
    model.fleet(fleet(n3=NodeStatus(N3, ready=True, mark=mark(30))), now(35))
    assert [row.states for row in Board(model).nodes()] == [("isolated",)]
    model.fleet(fleet(n3=NodeStatus(N3, ready=True, mark=mark(9, "alice"))), now(40))
    assert [row.states for row in Board(model).nodes()] == [("isolated",)]


def test_what_changes_nothing_of_the_nodes_is_no_news() -> None:
    model = heard(*began())
    model.fleet(fleet(n1=NodeStatus(N1, ready=True)), now(20))
    assert not model.fleet(fleet(n1=NodeStatus(N1, ready=True)), now(25))


def test_the_command_line_tells_both_facts_too() -> None:
    both = ListedNode(NodeStatus(N3, ready=False, mark=mark()), ended=False)
    assert both.state == "lost, isolated"
    told = both.as_object()
    assert (told["state"], told["states"]) == ("lost", ("lost", "isolated"))


async def test_a_page_shows_a_badge_for_each_fact_and_is_found_by_either() -> None:
    site = Site()
    site.tell(say(e.NodeIsolated, 10, job=None, node=N3, reason="r", because="its fan is loud"))
    site.model.fleet(fleet(n3=NodeStatus(N3, ready=False, mark=mark())), now(20))
    async with site.asked() as web:
        for state in ("lost", "isolated"):
            page = (await web.get(f"/nodes?state={state}")).text
            assert "node-n3" in page
        chinese = (await web.get("/nodes/n3?lang=zh")).text
    assert "失联" in chinese
    assert "已隔离" in chinese
