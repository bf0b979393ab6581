"""Reports about nodes and devices are matched by where jobs run at this moment, and end as their source says."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from keepstep.contracts.events import (
    DeviceEvidence,
    DeviceReported,
    FaultDetected,
    JobSucceeded,
    PublicFaultReported,
    ReportPlaced,
)
from keepstep.contracts.message import Message
from keepstep.detector.core import NodeFold, deadlines, effects, fold_key, over
from keepstep.detector.core.nodes import MAX_WAITING, bring
from tests.detector.facts import JOB, START, World, about, lost, node, passed, recovered, running, task

XID = DeviceEvidence(device="gpu-0", code="79")


def report(index: int, *, active: bool = True, **about_it: Any) -> DeviceReported:
    """Return a report of the device of a node; ``job`` and ``task`` say whose agent reports it."""
    fields = {**about(f"device {active}", ref=task(index)), "job": None, "task": None} | about_it
    return DeviceReported(**fields, device="gpu-0", code="79", active=active)


def public(name: str, index: int = 1, **fields: Any) -> PublicFaultReported:
    """Return a fault of a node that a system outside reports."""
    about_it = {**about(name, ref=task(index)), "job": None, "task": None, "generation": None}
    return PublicFaultReported(**about_it, source="bmc", code="fan", **fields)


def bring_on(world: World, index: int = 1) -> list[Message]:
    """Bring what was reported of a node to its jobs, and let the detector hear what comes of it."""
    placed = [event for relay in effects(world.folds[node(index)]) for event in bring(relay, world.jobs)]
    said = world.hear(*placed)
    return [*said, *world.hear(*[message for message in said if isinstance(message, ReportPlaced)])]


def away(world: World) -> None:
    """Move the second task to another node."""
    world.hear(*recovered(2, replace=(task(1).uid,)))


def test_a_report_about_a_node_reaches_the_jobs_that_run_there_and_so_does_its_end() -> None:
    world = running()
    world.hear(report(1))
    (relay,) = effects(world.folds[node(1)])
    placed = bring(relay, world.jobs)
    assert [event.job for event in placed] == [JOB, None]
    world.hear(*placed, *placed)
    (fault,) = world.faults
    assert (fault.evidence, fault.task) == (XID, task(1).uid)
    assert not list(effects(world.folds[node(1)]))
    world.hear(report(1, active=False))
    bring_on(world)
    assert [cleared.cause for cleared in world.cleared] == [fault.id]


WHOSE: list[tuple[str, dict[str, Any]]] = [
    ("nobody's", {}),
    ("the job's", {"job": JOB}),
    ("the task's that is there", {"job": JOB, "task": task(1).uid}),
    ("a task's that was replaced", {"job": JOB, "task": task(1, incarnation=9).uid}),
    ("an older generation's", {"job": JOB, "task": task(1).uid, "generation": 0}),
]


@pytest.mark.parametrize("whose", [row[1] for row in WHOSE], ids=[row[0] for row in WHOSE])
@pytest.mark.parametrize("moved", [False, True], ids=["runs there", "runs there no more"])
def test_whoever_reports_a_device_is_matched_by_the_placement_of_this_moment(
    whose: dict[str, Any], moved: bool
) -> None:
    world = running()
    if moved:
        away(world)
    world.hear(report(1, **whose))
    bring_on(world)
    (fault,) = world.faults
    assert (fault.evidence, fault.node) == (XID, node(1))
    assert fault.job == (None if moved else JOB)
    world.hear(report(1, active=False, **whose))
    bring_on(world)
    assert [(cleared.cause, cleared.job) for cleared in world.cleared] == [(fault.id, fault.job)]


def moved_away(world: World) -> None:
    away(world)


def lost_its_task(world: World) -> None:
    world.hear(lost(1))


def succeeded(world: World) -> None:
    world.hear(JobSucceeded(**about("succeeded")))


@pytest.mark.parametrize("meanwhile", [moved_away, lost_its_task, succeeded])
def test_a_report_that_its_job_escapes_is_a_fault_of_the_node_and_of_no_job(
    meanwhile: Callable[[World], None],
) -> None:
    world = running()
    world.hear(report(1))
    (relay,) = effects(world.folds[node(1)])
    placed = bring(relay, world.jobs)
    meanwhile(world)
    back = world.hear(*placed, *placed)
    world.hear(*back, *back)
    faults = [fault for fault in world.faults if fault.evidence == XID]
    assert [(fault.job, fault.node) for fault in faults] == [(None, node(1))]
    assert "where no job runs" in faults[0].because


def test_the_end_of_a_fault_reaches_the_job_that_has_left_the_node_since() -> None:
    world = running()
    world.hear(report(1))
    bring_on(world)
    away(world)
    world.hear(report(1, active=False))
    bring_on(world)
    assert [cleared.cause for cleared in world.cleared] == [world.faults[0].id]


Told = list[tuple[PublicFaultReported, int, int]]
"""A public report, and how many faults and ends of faults were said after it."""
PUBLIC: list[tuple[str, Told]] = [
    ("occur, recover", [(public("a", assertion="occur"), 1, 0), (public("b", assertion="recover"), 1, 1)]),
    ("recover alone", [(public("a", assertion="recover"), 0, 0)]),
    ("once and once more", [(public("a", assertion="once"), 1, 0), (public("b", assertion="once"), 2, 0)]),
    ("twice", [(public("a"), 1, 0), (public("b"), 1, 0), (public("c", active=False), 1, 1)]),
]


@pytest.mark.parametrize("moved", [False, True], ids=["a job runs there", "no job runs there"])
@pytest.mark.parametrize("told", [row[1] for row in PUBLIC], ids=[row[0] for row in PUBLIC])
def test_a_public_fault_opens_and_ends_as_its_source_asserts(told: Told, moved: bool) -> None:
    world = running()
    if moved:
        away(world)
    for event, faults, ends in told:
        world.hear(event, event)
        bring_on(world)
        assert (len({fault.id for fault in world.faults}), len(world.cleared)) == (faults, ends)


def test_a_public_fault_that_lasts_so_long_is_over_by_itself() -> None:
    world = running()
    world.hear(public("a", duration=timedelta(seconds=90)))
    bring_on(world)
    (ending,) = [one for one in deadlines(world.folds[node(1)]) if one.what == "over/fan"]
    assert ending.due == START + timedelta(seconds=90)
    world.hear(passed(node(1), ending))
    bring_on(world)
    assert [cleared.cause for cleared in world.cleared] == [world.faults[0].id]
    assert not [one for one in deadlines(world.folds[node(1)]) if one.what == "over/fan"]


def test_a_node_is_forgotten_a_week_after_its_last_report() -> None:
    world = running()
    world.hear(report(1))
    (first,) = deadlines(world.folds[node(1)])
    assert first.due - world.now == timedelta(days=7)
    world.now += timedelta(days=1)
    world.hear(public("later"), passed(node(1), first))
    assert not over(world.folds[node(1)])
    (second,) = deadlines(world.folds[node(1)])
    world.hear(passed(node(1), second))
    assert over(world.folds[node(1)])
    del world.folds[node(1)]
    world.hear(passed(node(1), second))
    assert over(world.folds[node(1)]), "a deadline that comes twice leaves nothing behind"


def test_a_node_that_floods_evicts_only_its_own_reports() -> None:
    world = running()
    for number in range(2 * MAX_WAITING):
        fields = {**about(f"public {number}", ref=task(0)), "job": None, "task": None}
        world.hear(PublicFaultReported(**fields, source="bmc", code=f"c{number}"))
    fold = world.folds[node(0)].of
    assert isinstance(fold, NodeFold)
    assert len(fold.reports) == MAX_WAITING


@pytest.mark.parametrize("about_it", [{"node": ""}, {"node": None}, {"node": "", "job": JOB}])
def test_a_report_of_a_node_without_a_name_is_nobodys(about_it: dict[str, Any]) -> None:
    """Its relay was tried for ever: nothing can be said under an empty key."""
    assert fold_key(report(0).model_copy(update=about_it)) == (JOB.uid if "job" in about_it else None)


def test_what_hurts_no_training_is_no_fault_and_reaches_no_job() -> None:
    world = running()
    world.hear(report(1, hurts=False))
    assert list(effects(world.folds[node(1)])) == []
    assert bring_on(world) == []


def test_a_public_fault_that_hurts_no_training_is_no_fault_either() -> None:
    world = running()
    world.hear(public("slow", hurts=False))
    assert bring_on(world) == []
    world.hear(public("broken"))
    assert bring_on(world) != []


def test_a_line_of_the_kernel_s_log_is_a_fault_each_time_it_is_told() -> None:
    world = running()
    found: list[Message] = []
    for name in ("first", "second"):
        world.hear(report(1, once=True, **about(name, ref=task(1)) | {"job": None, "task": None}))
        found += [one for one in bring_on(world) if isinstance(one, FaultDetected)]
    assert len({one.id for one in found}) == 2
