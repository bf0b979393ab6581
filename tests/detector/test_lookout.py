"""What objects of the cluster show is said once when it begins and once when it ends, whoever was not looking."""

from dataclasses import replace

from keepstep.contracts.events import DeviceEvidence, NodeEvidence, ReportPlaced, ReportRead
from keepstep.contracts.message import Message
from keepstep.detector.core import effects
from keepstep.detector.core.lookout import Lookout, called_wrong
from keepstep.detector.core.nodes import bring
from keepstep.ports.troubles import Shown, Trouble
from tests.detector.facts import JOB, POOL, START, World, node, running, task

NPU = Trouble("80E01801", "Ascend910-3", level="RestartBusiness", text="MindCluster level RestartBusiness, chip")
DEADLOCK = Trouble("KernelDeadlock", text="DockerHung: blocked", since="2026-01-01T00:00:00Z")
SPEAKS_OF = ("device Ascend", "KernelDeadlock", "ReadonlyFilesystem")


def shown(*troubles: Trouble, version: str = "1", place: str = "u1", refused: str = "") -> Shown:
    return Shown(place, version, node(1), "mindcluster", SPEAKS_OF, troubles, refused=refused)


def look(world: World | None = None) -> Lookout:
    return Lookout(POOL, called_wrong({} if world is None else world.folds))


def said(lookout: Lookout, *seen: Shown) -> list[tuple[str, bool]]:
    reports = [report for one in seen for report in lookout.see(one, START).reports]
    return [(_what(report), report.active) for report in reports]


def _what(report: ReportRead) -> str:
    found = report.evidence
    return found.code if isinstance(found, DeviceEvidence) else found.condition


def bring_on(world: World, *reports: Message) -> None:
    """Let the detector hear what was read, and bring it to the jobs that run there."""
    world.hear(*reports)
    placed = [event for relay in effects(world.folds[node(1)]) for event in bring(relay, world.jobs)]
    again = world.hear(*placed)
    world.hear(*[message for message in again if isinstance(message, ReportPlaced)])


def test_a_trouble_is_said_once_while_it_lasts_and_once_when_it_ends() -> None:
    seen = shown(DEADLOCK), shown(DEADLOCK, version="2"), shown(version="3"), shown(version="4")
    assert said(look(), *seen) == [("KernelDeadlock", True), ("KernelDeadlock", False)]


def test_a_detector_that_starts_again_says_the_same_beginning_under_the_same_id() -> None:
    first, second = look().see(shown(DEADLOCK), START), look().see(shown(DEADLOCK, version="9"), START)
    assert [one.id for one in first.reports] == [one.id for one in second.reports]


def test_a_trouble_that_comes_back_is_another_one() -> None:
    lookout = look()
    found = [lookout.see(one, START) for one in (shown(NPU), shown(version="2"), shown(NPU, version="3"))]
    assert len({report.id for news in found for report in news.reports}) == 3


def test_a_worse_level_ends_the_milder_fault_and_begins_its_own() -> None:
    worse = replace(NPU, level="SeparateNPU", text="MindCluster level SeparateNPU, chip")
    assert said(look(), shown(NPU), shown(worse, version="2")) == [
        ("80E01801", True),
        ("80E01801", False),
        ("80E01801", True),
    ]


def test_what_ends_with_its_object_is_said_to_be_over() -> None:
    gone = replace(shown(version="2"), gone=True)
    assert said(look(), shown(NPU), gone, shown(NPU, version="3", place="u2")) == [
        ("80E01801", True),
        ("80E01801", False),
        ("80E01801", True),
    ]


def test_an_object_that_is_gone_is_forgotten() -> None:
    """Nodes come and go for months while one detector is active."""
    lookout = look()
    for number in range(100):
        place = f"u{number}"
        lookout.see(shown(NPU, place=place), START)
        lookout.see(replace(shown(version="2", place=place), gone=True), START)
    assert lookout.objects == 0


def test_an_object_that_cannot_be_read_is_refused_once_and_what_it_showed_holds() -> None:
    lookout, garbled = look(), shown(version="2", refused="no JSON")
    found = [lookout.see(one, START) for one in (shown(NPU), garbled, replace(garbled, version="3"))]
    assert [news.refused for news in found] == ["", "no JSON", ""]
    assert not found[1].reports
    assert said(lookout, shown(NPU, version="4"), shown(version="5")) == [("80E01801", False)]
    assert lookout.see(replace(garbled, version="6"), START).refused == "no JSON"


def test_what_ended_while_no_detector_looked_is_over_at_the_first_sight() -> None:
    world = running()
    bring_on(world, *look().see(shown(NPU, DEADLOCK), START).reports)
    assert [fault.task for fault in world.faults] == [task(1).uid] * 2
    successor = look(world)
    bring_on(world, *successor.see(shown(DEADLOCK, version="5"), START).reports)
    cleared = {fault.cause for fault in world.cleared}
    assert cleared == {fault.id for fault in world.faults if isinstance(fault.evidence, DeviceEvidence)}


def test_what_others_report_of_the_node_is_not_ended_by_an_object_that_does_not_speak_of_it() -> None:
    fan = NodeEvidence(condition="fan")
    world = running()
    about = {"id": "r", "time": START, "pool": POOL, "node": node(1), "source": "bmc"}
    bring_on(world, ReportRead.model_validate(about | {"evidence": fan.model_dump()}))
    assert called_wrong(world.folds) == {node(1): frozenset({"fan"})}
    assert said(look(world), shown()) == []


def test_what_is_read_of_a_node_hurts_the_jobs_that_run_there() -> None:
    world = running()
    bring_on(world, *look().see(shown(NPU), START).reports)
    (fault,) = world.faults
    assert (fault.job, fault.evidence) == (JOB, DeviceEvidence(device=NPU.device or "", code=NPU.code, text=NPU.text))
