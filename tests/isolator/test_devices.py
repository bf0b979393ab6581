"""One device is kept from jobs where its node can do without it; it comes back like a node does."""

from keepstep.contracts.events import (
    DeviceIsolated,
    DeviceReleased,
    IncidentClosed,
    IsolationDeclined,
    NodeIsolated,
    NodeReleased,
)
from keepstep.contracts.ids import NodeName
from tests.isolator.story import PoolOfNodes
from tests.isolator.words import accepted, isolate, node, release, verdict

N1 = NodeName("n1")
NPU = "Ascend910-3"


def pool(*, withholds: bool = True, tick: float = 0) -> PoolOfNodes:
    return PoolOfNodes(node("n1", withholds=withholds), node("n2", withholds=withholds), tick=tick).tell(accepted())


def withheld(of: PoolOfNodes) -> list[str]:
    return [one.device for one in of.fleet.by_name[N1].withheld]


async def test_a_blamed_device_alone_is_withheld_and_its_node_goes_on() -> None:
    told = await pool().tell(verdict(device=NPU)).act()
    (answer,) = [one for one in told.said if isinstance(one, DeviceIsolated)]
    assert (answer.cause, answer.node, answer.device) == (verdict(device=NPU).id, "n1", NPU)
    assert answer.because.endswith("1 of 2 nodes out, of n1 its device Ascend910-3 alone")
    assert answer.until is not None
    assert withheld(told) == [NPU]
    assert told.fleet.by_name[N1].mark is None


async def test_where_nothing_heeds_a_withheld_device_the_whole_node_is_isolated() -> None:
    told = await pool(withholds=False).tell(verdict(device=NPU)).act()
    assert isinstance(told.said[-1], NodeIsolated)
    assert told.fleet.cordons == ["n1"]


async def test_two_devices_of_a_node_are_withheld_one_by_one() -> None:
    told = await pool().tell(verdict(device=NPU)).act()
    await told.tell(verdict(device="Ascend910-4", incident="b")).act()
    assert withheld(told) == [NPU, "Ascend910-4"]
    assert len(told.fold.isolations) == 2


async def test_a_second_verdict_on_a_withheld_device_is_declined() -> None:
    told = await pool().tell(verdict(device=NPU)).act()
    told.tell(verdict(device=NPU, incident="b"))
    answer = told.said[-1]
    assert isinstance(answer, IsolationDeclined)
    assert answer.because.startswith("n1/Ascend910-3 is already isolated since 2026")


async def test_a_node_without_one_of_its_devices_counts_for_the_guard() -> None:
    """A sensor that errs by type would else take a device out of every node of the fleet."""
    told = await pool().tell(verdict(device=NPU)).act()
    await told.tell(verdict("n2", device=NPU, incident="b")).act()
    assert told.last == ("IsolationDeclined", "guard: 1 of 2 nodes of the fleet out, at most 1 may be")


async def test_a_person_who_releases_the_node_releases_its_devices_too() -> None:
    told = await pool().tell(verdict(device=NPU), isolate("n1")).act()
    await told.tell(release("n1")).act()
    assert [type(one) for one in told.said[-2:]] == [DeviceReleased, NodeReleased]
    assert not withheld(told)
    assert told.fleet.by_name[N1].mark is None
    assert not told.fold.isolations
    assert not told.fold.releases


async def test_a_revised_verdict_gives_back_that_device_alone() -> None:
    told = await pool().tell(verdict(device="Ascend910-4", incident="other"), verdict(device=NPU)).act()
    await told.tell(verdict("n2", revision=1, isolate=False)).act()
    assert withheld(told) == ["Ascend910-4"]
    assert isinstance(told.said[-1], DeviceReleased)
    assert [*told.fold.isolations] == ["n1/Ascend910-4"]


async def test_a_verdict_revised_to_another_device_of_the_node_withholds_that_one_instead() -> None:
    told = await pool().tell(verdict(device=NPU)).act()
    await told.tell(verdict(device="Ascend910-4", revision=1)).act()
    assert withheld(told) == ["Ascend910-4"]


async def test_a_device_that_a_hand_gave_back_is_told_as_released() -> None:
    told = await pool().tell(verdict(device=NPU)).act()
    await told.fleet.give_back(N1, NPU)
    await told.watch()
    answer = told.said[-1]
    assert isinstance(answer, DeviceReleased)
    assert answer.because == "device Ascend910-3 was given back by hand"
    assert not told.fold.isolations


async def test_an_expired_isolation_of_a_device_ends_once_its_node_is_healthy() -> None:
    told = await pool(tick=10).tell(verdict(device=NPU)).act()
    await told.tell(told.passed()).watch()
    assert isinstance(told.said[-1], DeviceReleased)
    assert not withheld(told)


async def test_an_incident_of_no_job_ends_with_the_release_of_its_device() -> None:
    told = await pool().tell(verdict(device=NPU, job=None)).act()
    await told.tell(release("n1")).act()
    assert [one.incident for one in told.said if isinstance(one, IncidentClosed)] == ["incident-1"]
