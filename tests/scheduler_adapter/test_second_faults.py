"""A fault in the middle of a recovery, or of a generation that is over."""

import pytest

from keepstep.contracts.events import (
    IncidentClosed,
    JobResumed,
    RecoveryFailed,
    RecoveryPlanned,
)
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.contracts.topology import Culprit
from keepstep.core.budgets import PORT_IN_USE
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import World


def second_fault(first: Culprit, second: Culprit, **verdict: object) -> World:
    """Let a second fault hit the new generation before it stepped."""
    world = World(nodes=["n1", "n2", "n3", "n4"]).run()
    world.steps = False
    world.diagnose(world.verdict(culprit=first))
    world.settle()
    world.steps = True
    world.diagnose(world.verdict(culprit=second, **verdict), attempt=2)
    return world.settle()


def test_an_incident_closes_in_the_group_that_the_isolator_put_it_into() -> None:
    world = World().run()
    event = world.diagnose(answers=False)
    grouped = world.fenced(event).model_copy(update={"group": "group-1"})
    world.hear(world.chosen(event), grouped).settle()
    assert world.last(IncidentClosed).group == "group-1"


def test_a_second_fault_of_a_new_culprit_takes_the_same_level() -> None:
    world = second_fault(Culprit(rank=3), Culprit(rank=1))
    closed = world.last(IncidentClosed)
    assert (closed.levels, closed.attempts) == ((Level.IN_PLACE,), 2)
    assert world.all(RecoveryFailed) == []
    assert world.fold.generation == 3
    assert len(world.all(IncidentClosed)) == 1


def test_a_second_fault_of_the_same_culprit_takes_the_next_level() -> None:
    world = second_fault(Culprit(rank=3), Culprit(rank=3))
    closed = world.last(IncidentClosed)
    assert (closed.levels, closed.attempts) == ((Level.IN_PLACE, Level.POD), 2)
    assert [failed.level for failed in world.all(RecoveryFailed)] == [Level.IN_PLACE]


@pytest.mark.parametrize(
    "verdict",
    [
        {"category": Category.STORAGE, "rule": "checkpoint-load", "bad_checkpoint": 20},
        {"category": Category.NETWORK, "rule": PORT_IN_USE},
    ],
)
def test_a_bad_checkpoint_or_a_taken_port_keeps_the_level(verdict: dict[str, object]) -> None:
    world = second_fault(Culprit(rank=3), Culprit(rank=3), **verdict)
    assert world.last(IncidentClosed).levels == (Level.IN_PLACE,)
    assert world.all(RecoveryFailed) == []


def test_a_second_loss_while_stopping_joins_the_plan_at_once() -> None:
    world = World(nodes=["n1", "n2", "n3", "n4"]).run()
    world.silent.add("worker-1")
    world.diagnose(world.verdict(culprit=Culprit(rank=0)))
    world.settle()
    world.silent.clear()
    world.hear(world.lose("worker-1")).settle()
    assert world.last(JobResumed).level is Level.POD
    assert world.last(IncidentClosed).levels == (Level.IN_PLACE, Level.POD)
    assert world.fold.tasks["worker-1"].incarnation == 2
    culprit = Culprit(task=TaskUid("long gone"))
    world.diagnose(world.verdict(culprit=culprit), attempt=2)
    assert world.settle().is_(Life.RUNNING)
    assert len(world.all(JobResumed)) == 1


def test_a_revised_verdict_on_a_loss_that_is_being_made_good_costs_no_further_task() -> None:
    """The loss is planned for as soon as it is heard; what the diagnoser makes of it comes a moment later."""
    world = World(nodes=["n1", "n2", "n3", "n4"]).run()
    world.silent.add("worker-1")
    world.diagnose(world.verdict(culprit=Culprit(rank=0)))
    world.settle()
    task = world.fold.tasks["worker-1"]
    world.silent.clear()
    world.hear(world.lose("worker-1"))
    lost = Culprit(node=task.node, task=task.ref.uid)
    world.diagnose(world.verdict(category=Category.NODE_HARDWARE, culprit=lost, isolate=True), revision=1)
    world.settle()
    assert [planned.level for planned in world.all(RecoveryPlanned)] == [Level.IN_PLACE, Level.POD]
    assert world.last(IncidentClosed).levels == (Level.IN_PLACE, Level.POD)
    assert [each.incarnation for each in world.fold.tasks.values()] == [1, 2]


def test_a_task_lost_while_its_ranks_start_waits_for_the_verdict_on_it() -> None:
    world = World(nodes=["n1", "n2", "n3"]).run()
    world.steps = False
    world.diagnose(world.verdict(culprit=Culprit(rank=0)))
    world.settle()
    task = world.fold.tasks["worker-1"]
    world.hear(world.lose("worker-1")).settle()
    assert len(world.all(RecoveryPlanned)) == 1
    world.steps = True
    lost = Culprit(node=task.node, task=task.ref.uid)
    world.diagnose(world.verdict(category=Category.NODE_HARDWARE, culprit=lost, isolate=True), attempt=2)
    world.settle()
    closed = world.last(IncidentClosed)
    assert (closed.category, closed.attempts) == (Category.NODE_HARDWARE, 2)
    assert closed.levels == (Level.IN_PLACE, Level.POD)
    assert [planned.to_generation for planned in world.all(RecoveryPlanned)] == [2, 3]
    assert [planned.attempt for planned in world.all(RecoveryPlanned)] == [1, 2]


def test_a_late_verdict_on_an_older_generation_restarts_nothing() -> None:
    world = World().run()
    world.diagnose()
    world.settle()
    world.diagnose(generation=1)
    world.settle()
    assert world.fold.generation == 2
    assert [closed.outcome for closed in world.all(IncidentClosed)] == [Outcome.RESUMED, Outcome.CLEARED]


@pytest.mark.parametrize("culprit", [Culprit(node=NodeName("n9"), device="gpu0"), Culprit(task=TaskUid("old"))])
def test_a_fault_where_the_job_no_longer_runs_restarts_nothing(culprit: Culprit) -> None:
    world = World().run()
    world.diagnose(world.verdict(category=Category.DEVICE_HARDWARE, culprit=culprit))
    world.settle()
    assert world.all(RecoveryPlanned) == []
    assert world.last(IncidentClosed).outcome is Outcome.CLEARED
    assert world.is_(Life.RUNNING)


def test_a_fault_of_the_new_generation_seen_while_the_incident_closed_is_not_lost() -> None:
    world = World().run()
    world.diagnose()
    world.settle()
    world.diagnose(world.verdict(culprit=Culprit(rank=1)), attempt=2)
    world.settle()
    assert world.fold.generation == 3
    assert len(world.all(JobResumed)) == 2
