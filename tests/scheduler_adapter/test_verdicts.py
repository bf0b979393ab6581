"""Verdicts joined with their answers, revised, stale, or overtaken by people."""

import pytest

from keepstep.contracts.events import (
    DeviceIsolated,
    FaultCleared,
    IncidentClosed,
    IncidentOpened,
    JobResumed,
    RecoveryPlanned,
)
from keepstep.contracts.ids import EventId, IncidentId, NodeName
from keepstep.contracts.orders import DeleteJob, StopJob
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.contracts.topology import Culprit
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.voices import JOB, POOL
from tests.scheduler_adapter.world import World


def test_nothing_is_planned_before_both_answers() -> None:
    world = World().run()
    event = world.diagnose(answers=False)
    assert world.all(RecoveryPlanned) == []
    world.hear(world.chosen(event))
    assert world.all(RecoveryPlanned) == []
    world.hear(world.fenced(event))
    assert len(world.all(RecoveryPlanned)) == 1


def test_without_answers_the_last_committed_step_is_used_after_the_deadline() -> None:
    world = World().run()
    world.hear(world.committed(10), world.committed(25))
    world.diagnose(answers=False)
    world.pass_deadline("join").settle()
    assert world.last(RecoveryPlanned).resume_step == 25
    assert world.last(JobResumed).lost_steps == 5


def test_from_scratch_loses_every_step() -> None:
    world = World().run()
    event = world.diagnose(answers=False)
    world.hear(world.chosen(event, step=None), world.fenced(event)).settle()
    resumed = world.last(JobResumed)
    assert (resumed.step, resumed.lost_steps) == (1, 30)


@pytest.mark.parametrize("known", [None, 24])
def test_the_ranks_that_are_stopped_tell_how_far_the_job_had_come(known: int | None) -> None:
    world = World().run()
    world.diagnose(world.verdict(step=known))
    stopped = world.exit(0, code=-15, generation=1).model_copy(update={"ordered": True, "step": 26})
    world.hear(stopped).settle()
    assert world.last(JobResumed).lost_steps == 6


def test_answers_to_another_verdict_do_not_count() -> None:
    world = World().run()
    event = world.diagnose(answers=False)
    stray = event.model_copy(update={"id": EventId("other")})
    world.hear(world.chosen(stray), world.fenced(stray))
    assert world.all(RecoveryPlanned) == []


def test_a_revision_before_the_start_replaces_the_verdict() -> None:
    world = World().run()
    world.diagnose(answers=False)
    better = world.verdict(category=Category.NODE_HARDWARE, culprit=Culprit(node=NodeName("n2")), isolate=True)
    event = world.diagnose(better, revision=1)
    world.settle()
    assert world.last(RecoveryPlanned).level is Level.POD
    assert world.last(IncidentClosed).category is Category.NODE_HARDWARE
    assert event.incident == world.last(IncidentClosed).incident
    assert len(world.all(IncidentClosed)) == 1


def test_a_revision_after_the_start_changes_nothing() -> None:
    world = World().run()
    world.steps = False
    world.diagnose()
    world.settle()
    world.diagnose(world.verdict(category=Category.USER_CODE), revision=1)
    world.settle()
    assert len(world.all(RecoveryPlanned)) == 1


def test_a_device_blamed_after_the_start_is_left_all_the_same() -> None:
    world = World().run()
    world.steps = False
    world.diagnose()
    world.settle()
    world.steps = True
    culprit = Culprit(node=NodeName("n2"), device="gpu1")
    broken = world.verdict(category=Category.DEVICE_HARDWARE, culprit=culprit, isolate=True)
    world.diagnose(broken, revision=1, generation=1)
    world.settle()
    assert [planned.level for planned in world.all(RecoveryPlanned)] == [Level.IN_PLACE, Level.POD]
    assert world.fold.tasks["worker-1"].node == "n3"
    assert world.last(IncidentClosed).category is Category.DEVICE_HARDWARE
    assert world.fold.ledger.total == 1


def test_a_node_of_which_one_device_is_out_is_not_taken_for_cordoned() -> None:
    world = World().run()
    culprit = Culprit(node=NodeName("n2"), device="gpu1")
    broken = world.verdict(category=Category.DEVICE_HARDWARE, culprit=culprit, isolate=True)
    event = world.diagnose(broken, answers=False)
    about = {"time": world.now, "pool": POOL, "job": JOB, "node": culprit.node, "incident": event.incident}
    answer = DeviceIsolated(
        id=EventId("device-out"), **about, cause=event.id, device="gpu1", reason="r", because="1 of 8 devices out"
    )
    world.hear(world.chosen(event), answer).settle()
    assert world.fold.avoid == ("n2",)
    assert world.fold.tasks["worker-1"].node == "n3"


def test_a_device_blamed_in_an_older_generation_is_judged_by_where_the_job_runs() -> None:
    world = World().run()
    world.diagnose()
    world.settle()
    culprit = Culprit(node=NodeName("n2"), device="gpu1")
    broken = world.verdict(category=Category.DEVICE_HARDWARE, culprit=culprit, isolate=True)
    world.diagnose(broken, generation=1)
    world.settle()
    assert world.last(JobResumed).level is Level.POD


def test_a_fault_that_clears_before_the_plan_closes_its_incident() -> None:
    world = World().run()
    event = world.diagnose(answers=False)
    cleared = FaultCleared(
        id=EventId("cleared"), time=world.now, pool=POOL, job=JOB, cause=event.faults[0], because="heard again"
    )
    world.hear(cleared).settle()
    assert world.last(IncidentClosed).outcome is Outcome.CLEARED
    assert world.all(RecoveryPlanned) == []


def test_a_stop_in_the_middle_of_a_recovery_closes_the_incident_as_job_gone() -> None:
    world = World().run()
    world.diagnose(answers=False)
    world.hear(StopJob(id=EventId("stop"), time=world.now, pool=POOL, job=JOB, by="ann", reason="done")).settle()
    assert world.names()[-3:] == ["JobStopRequested", "IncidentClosed", "JobDeleted"]
    assert world.last(IncidentClosed).outcome is Outcome.JOB_GONE
    assert world.is_(Life.ENDED)
    assert world.placed == {}


def test_an_incident_without_verdict_ends_with_its_job() -> None:
    world = World().run()
    incident = IncidentId("i1")
    opened = IncidentOpened(
        id=EventId("o"), time=world.now, pool=POOL, job=JOB, incident=incident, fault=EventId("f"), because="b"
    )
    world.hear(opened, DeleteJob(id=EventId("delete"), time=world.now, pool=POOL, job=JOB)).settle()
    assert world.last(IncidentClosed).incident == incident
    world.hear(opened.model_copy(update={"id": EventId("o2"), "incident": IncidentId("i2")}))
    assert [closed.outcome for closed in world.all(IncidentClosed)] == [Outcome.JOB_GONE] * 2
