"""Plan first, then the word on it, then what it asks for."""

from keepstep.contracts.events import (
    JobResumed,
    JobWaiting,
    RecoveryPlanned,
    RecoveryStarted,
)
from keepstep.contracts.taxonomy import Category, Level, LossCause, PlanPhase
from keepstep.contracts.topology import Culprit
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import World


def test_the_plan_comes_before_any_effect() -> None:
    world = World().run()
    before = len(world.acts)
    event = world.diagnose(answers=False)
    world.hear(world.chosen(event))
    assert len(world.acts) == before
    world.hear(world.fenced(event))
    assert world.names()[-1] == "RecoveryPlanned"
    assert len(world.acts) == before + 1


def test_two_tasks_deleted_at_once_are_one_incident_and_one_plan() -> None:
    world = World(nodes=["n1", "n2"]).run()
    uid = world.uid("worker-1")
    world.hear(world.lose("worker-1", LossCause.DELETED), world.lose("worker-0", LossCause.DELETED))
    world.diagnose(world.verdict(category=Category.DELETED, culprit=Culprit(task=uid)))
    world.settle()
    assert len(world.all(RecoveryPlanned)) == 1
    assert world.last(RecoveryPlanned).level is Level.JOB
    assert world.is_(Life.RUNNING)


def test_nothing_starts_and_nothing_is_taken_out_before_recovery_started_is_said() -> None:
    world = World().run()
    uid = world.uid("worker-1")
    event = world.diagnose(world.verdict(category=Category.DEVICE_HARDWARE, culprit=Culprit(task=uid)), answers=False)
    world.hear(world.chosen(event), world.fenced(event))
    started = [message for message in world.pending if isinstance(message, RecoveryStarted)]
    world.pending = [message for message in world.pending if message not in started]
    world.settle()
    assert not any(act.startswith("delete/") for act in world.acts)
    assert world.fold.plan is not None
    assert world.fold.plan.phase is PlanPhase.STOP
    world.hear(*started).settle()
    assert world.last(JobResumed).level is Level.POD


def test_replacements_do_not_ask_for_room_that_their_predecessors_still_hold() -> None:
    world = World(nodes=["n1", "n2"]).run()
    uid = world.uid("worker-0")
    world.diagnose(world.verdict(category=Category.PREEMPTED, culprit=Culprit(task=uid)))
    world.settle()
    assert world.last(JobResumed).level is Level.JOB
    assert not any(isinstance(message, JobWaiting) for message in world.heard)


def test_planning_again_does_not_count_an_attempt_against_itself() -> None:
    world = World().run()
    for _ in range(2):
        world.diagnose()
        world.settle()
    world.silent.add("worker-1")
    world.diagnose()
    world.settle()
    world.silent.clear()
    world.pass_deadline("stop").settle()
    assert world.last(JobResumed).level is Level.POD
    assert world.fold.ledger.total == 3


def test_confirmed_stops_start_nothing_before_recovery_started_is_said() -> None:
    world = World().run()
    event = world.diagnose(answers=False)
    world.hear(world.chosen(event), world.fenced(event))
    world.pending = [message for message in world.pending if not isinstance(message, RecoveryStarted)]
    world.settle()
    assert world.fold.plan is not None
    assert world.fold.plan.phase is PlanPhase.STOP
