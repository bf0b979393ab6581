"""Verdicts joined with their answers, revised, repeated, stale, or overtaken by people."""

import pytest

from keepstep.contracts.events import (
    ActionsPaused,
    CheckpointCommitted,
    DeviceIsolated,
    FaultCleared,
    IncidentClosed,
    IncidentOpened,
    JobFreed,
    JobHeld,
    JobResumed,
    JobWaiting,
    RecoveryFailed,
    RecoveryPlanned,
    RecoveryStarted,
)
from keepstep.contracts.ids import EventId, IncidentId, NodeName, TaskUid
from keepstep.contracts.message import POOL_KEY
from keepstep.contracts.orders import DeleteJob, PauseActions, ResumeActions, StopJob
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome, PlanPhase
from keepstep.contracts.topology import Culprit
from keepstep.core.budgets import PORT_IN_USE
from keepstep.scheduler_adapter.core import decide, effects, fold_key
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.recovery import Joining
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import JOB, POOL, World


def committed(world: World, step: int) -> CheckpointCommitted:
    path = f"/ckpt/step-{step}"
    identity = EventId(f"committed-{step}")
    return CheckpointCommitted(id=identity, time=world.now, pool=POOL, job=JOB, step=step, path=path, files=(path,))


def test_nothing_is_planned_before_both_answers() -> None:
    world = World().run()
    event = world.diagnose(answers=False)
    assert world.all(RecoveryPlanned) == []
    world.hear(world.chosen(event))
    assert world.all(RecoveryPlanned) == []
    world.hear(world.fenced(event))
    assert len(world.all(RecoveryPlanned)) == 1


def test_the_plan_comes_before_any_effect() -> None:
    world = World().run()
    before = len(world.acts)
    event = world.diagnose(answers=False)
    world.hear(world.chosen(event))
    assert len(world.acts) == before
    world.hear(world.fenced(event))
    assert world.names()[-1] == "RecoveryPlanned"
    assert len(world.acts) == before + 1


def test_without_answers_the_last_committed_step_is_used_after_the_deadline() -> None:
    world = World().run()
    world.hear(committed(world, 10), committed(world, 25))
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


def test_a_paused_job_records_faults_and_acts_when_resumed() -> None:
    world = World().run()
    world.hear(PauseActions(id=EventId("pause"), time=world.now, pool=POOL, job=JOB))
    world.diagnose()
    world.settle()
    assert world.fold.recovery is not None
    assert isinstance(world.fold.recovery.stage, Joining)
    assert world.all(RecoveryPlanned) == []
    world.hear(ResumeActions(id=EventId("resume"), time=world.now, pool=POOL, job=JOB)).settle()
    assert world.last(JobResumed).level is Level.IN_PLACE


def test_a_job_that_the_pool_holds_acts_when_it_is_freed_unless_it_is_paused_itself() -> None:
    world = World().run()
    about = {"time": world.now, "pool": POOL, "job": JOB}
    world.hear(JobHeld(id=EventId("held"), **about), PauseActions(id=EventId("pause"), **about))
    world.diagnose()
    world.settle()
    world.hear(JobFreed(id=EventId("freed"), **about)).settle()
    assert world.all(RecoveryPlanned) == []
    world.hear(ResumeActions(id=EventId("resume"), **about)).settle()
    assert world.last(JobResumed).level is Level.IN_PLACE


def test_the_pools_pause_is_said_once_and_reaches_every_job_that_does_not_know_it() -> None:
    world = World().run()
    order = PauseActions(id=EventId("pause"), time=world.now, pool=POOL)
    assert fold_key(order) == POOL_KEY
    first = decide(None, order, world.now)
    again = decide(first.state, order.model_copy(update={"id": EventId("again")}), world.now)
    assert [(type(said), said.job) for said in (*first.says, *again.says)] == [(ActionsPaused, None)]
    (keep,) = effects(first.state)
    assert isinstance(keep, KeepHeld)
    news = list(keep.news([first.state, world.fold], world.now))
    assert [(type(said), said.job) for said in news] == [(JobHeld, JOB)]
    world.hear(*news)
    assert not list(keep.news([world.fold], world.now))
    freed = decide(first.state, ResumeActions(id=EventId("resume"), time=world.now, pool=POOL), world.now)
    (keep,) = effects(freed.state)
    assert isinstance(keep, KeepHeld)
    assert [type(said) for said in keep.news([world.fold], world.now)] == [JobFreed]


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
