"""Jobs whose pods a controller makes: found, and restarted as one act."""

from keepstep.contracts.events import (
    IncidentClosed,
    JobAccepted,
    JobFailed,
    JobResumed,
    RecoveryFailed,
    RecoveryPlanned,
    RestartFailed,
)
from keepstep.contracts.ids import NodeName
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome
from keepstep.contracts.topology import Culprit
from keepstep.scheduler_adapter.core import effects
from keepstep.scheduler_adapter.core.restarts import safe_tasks
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.wants import CreateTasks
from tests.scheduler_adapter.controlled import NEVER, Controlled, broken, deleted, gone
from tests.scheduler_adapter.voices import spec


def test_a_job_that_is_found_is_accepted_and_runs_with_the_levels_that_it_cannot_have_told() -> None:
    world = Controlled().find(Level.WAIT, Level.IN_PLACE, Level.JOB, Level.FAIL, refusals=(NEVER,))
    assert world.is_(Life.RUNNING)
    accepted: JobAccepted = world.last(JobAccepted)
    assert accepted.warnings == ("no level pod: restartPolicy Never fails the whole job; take OnFailure",)


def test_a_job_that_is_found_again_changes_nothing_but_its_levels() -> None:
    world = Controlled().find()
    said = world.names()
    world.find(Level.IN_PLACE, Level.JOB, refusals=(NEVER,))
    assert world.names() == said
    assert world.fold.controlled is not None
    assert world.fold.controlled.levels == {Level.IN_PLACE, Level.JOB}


def test_a_level_that_the_kind_rules_out_is_skipped_in_its_words() -> None:
    world = deleted(Controlled().find(Level.WAIT, Level.IN_PLACE, Level.JOB, Level.FAIL, refusals=(NEVER,)))
    planned: RecoveryPlanned = world.last(RecoveryPlanned)
    assert planned.level is Level.JOB
    assert "not pod: restartPolicy Never fails the whole job (take OnFailure)" in planned.because


def test_level_pod_asks_the_controller_once_and_for_the_lost_task_alone() -> None:
    world = Controlled().find()
    lost = world.uid("worker-1")
    deleted(world)
    (restart,) = world.restarts
    assert (restart.level, [each.ref.uid for each in restart.lost]) == (Level.POD, [lost])
    assert world.last(JobResumed).level is Level.POD


def test_level_job_is_one_act_on_the_job_for_all_its_tasks() -> None:
    world = Controlled().find()
    old = {world.uid("worker-0"), world.uid("worker-1")}
    deleted(world, "worker-0")
    (restart,) = world.restarts
    assert (restart.level, {each.ref.uid for each in restart.lost}) == (Level.JOB, old)
    assert world.last(JobResumed).level is Level.JOB
    assert not old & {task.ref.uid for task in world.fold.tasks.values()}


def test_nothing_is_asked_of_the_controller_before_the_ranks_are_told_to_stop() -> None:
    world = Controlled().find()
    world.hear(world.lose("worker-1", LossCause.DELETED))
    event = world.diagnose(gone(world), answers=False)
    world.hear(world.chosen(event), world.fenced(event))
    assert world.restarts == []
    world.settle()
    assert len(world.restarts) == 1


def test_in_place_asks_nothing_of_the_controller() -> None:
    world = Controlled().find()
    world.diagnose()
    world.settle()
    assert world.last(JobResumed).level is Level.IN_PLACE
    assert world.restarts == []


def test_a_restart_that_the_cluster_refuses_gives_way_to_the_next_level() -> None:
    world = Controlled().find()
    world.refuses = frozenset({Level.POD})
    broken(world).settle()
    assert [restart.level for restart in world.restarts] == [Level.POD, Level.JOB]
    failed: RecoveryFailed = world.last(RecoveryFailed)
    assert (failed.level, failed.because) == (Level.POD, "its budget is used up")
    assert world.last(JobResumed).level is Level.JOB


def test_a_job_that_no_level_can_restart_fails_with_the_last_reason() -> None:
    world = Controlled().find()
    world.refuses = frozenset({Level.POD, Level.JOB})
    broken(world).settle()
    assert world.last(IncidentClosed).outcome is Outcome.FAILED
    assert [each.level for each in world.all(RecoveryFailed)] == [Level.POD, Level.JOB]
    failed: JobFailed = world.last(JobFailed)
    assert failed.category is Category.DEVICE_HARDWARE
    assert "; job was given up: its budget is used up: " in failed.because


def test_a_job_that_is_never_to_go_beyond_pod_fails_where_pod_is_refused() -> None:
    policy = Policy.model_validate({"recovery": {"levels": ["wait", "in-place", "pod"]}})
    world = Controlled(job=spec(policy=policy)).find()
    world.refuses = frozenset({Level.POD})
    broken(world).settle()
    assert [restart.level for restart in world.restarts] == [Level.POD]
    assert world.last(JobFailed)


def test_the_refusal_of_an_older_plan_changes_nothing() -> None:
    world = Controlled().find()
    deleted(world)
    (restart,) = world.restarts
    said = world.names()
    world.hear(restart.failed(world.now, "late"))
    assert world.names() == said


def test_a_successor_asks_for_the_same_restart() -> None:
    world = Controlled().find()
    world.hear(world.lose("worker-1", LossCause.DELETED))
    world.diagnose(gone(world))
    while not world.restarts:
        world.hear(world.pending.pop(0))
    world.crash()
    assert [restart.id for restart in world.restarts] == [world.restarts[0].id] * 2
    world.settle()
    assert world.names().count("JobResumed") == 1


def test_a_second_fault_during_a_restart_is_another_plan_of_the_same_incident() -> None:
    """Both tasks of one node go, one after the other: one incident, one decision for each."""
    world = Controlled(job=spec(nodes=3), nodes=("n1", "n2", "n3", "n4", "n5")).find()
    world.hear(world.lose("worker-1", LossCause.DELETED))
    world.diagnose(gone(world))
    while not world.restarts:
        world.hear(world.pending.pop(0))
    world.hear(world.lose("worker-2", LossCause.DELETED))
    world.settle()
    assert [len(restart.lost) for restart in world.restarts] == [1, 2]
    assert len({restart.id for restart in world.restarts}) == 2
    assert len(world.all(IncidentClosed)) == 1
    assert world.last(JobResumed).level is Level.POD


def test_the_pods_of_tasks_whose_ranks_may_run_are_not_safe_to_take_by_force() -> None:
    world = Controlled().find()
    lost = world.uid("worker-1")
    world.silent.add("worker-1")
    world.unproven.add(lost)
    world.hear(world.lose("worker-1", proven=False))
    world.diagnose(gone(world))
    world.settle()
    assert safe_tasks(world.fold) == frozenset()
    world.pass_deadline("stop").pass_deadline("fence")
    assert safe_tasks(world.fold) == {lost}


def test_replacements_wait_until_the_controller_has_taken_their_predecessors() -> None:
    world = broken(Controlled(nodes=("n1", "n2", "n3", "n4")).find())
    world.unproven.add(world.uid("worker-1"))
    while not world.restarts:
        assert not any(isinstance(effect, CreateTasks) for effect in effects(world.fold))
        world.hear(world.pending.pop(0))
    world.settle()
    assert world.placed.keys() == {task.ref.uid for task in world.fold.tasks.values()}


def test_a_restart_keeps_off_the_nodes_that_must_not_be_used() -> None:
    world = Controlled(nodes=("n1", "n2", "n3", "n4")).find()
    node = world.fold.tasks["worker-1"].node
    culprit = Culprit(node=node, task=world.uid("worker-1"))
    event = world.diagnose(
        world.verdict(category=Category.DEVICE_HARDWARE, culprit=culprit, isolate=True), answers=False
    )
    world.hear(world.chosen(event), world.fenced(event, isolated=False))
    world.settle()
    assert world.restarts[0].avoid == (NodeName(str(node)),)


def test_a_restart_that_failed_says_whose_it_was() -> None:
    world = Controlled().find()
    deleted(world)
    event: RestartFailed = world.restarts[0].failed(world.now, "why")
    assert event.incident == world.last(JobResumed).incident
    assert (event.level, event.to_generation) == (Level.POD, world.restarts[0].to_generation)
