"""Jobs whose pods a controller makes: found, restarted as one act, ended as their controller respects it."""

from typing import Any

import pytest

from keepstep.contracts.events import (
    Finish,
    IncidentClosed,
    JobAccepted,
    JobFailed,
    JobFinished,
    JobFound,
    JobResumed,
    JobStopRequested,
    LevelRefusal,
    RecoveryFailed,
    RecoveryPlanned,
    RestartFailed,
)
from keepstep.contracts.ids import EventId, NodeName, derive
from keepstep.contracts.message import Message
from keepstep.contracts.orders import StopJob
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome
from keepstep.contracts.topology import Culprit
from keepstep.ports.controllers import Listing
from keepstep.scheduler_adapter.core import effects
from keepstep.scheduler_adapter.core.ending import STOPPED
from keepstep.scheduler_adapter.core.restarts import EndJob, RestartTasks, safe_tasks
from keepstep.scheduler_adapter.core.sightings import vanished
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.wants import CreateTasks, DeleteTask, SchedulerEffect
from tests.scheduler_adapter.voices import JOB, POOL, spec
from tests.scheduler_adapter.world import World

ALL = tuple(Level)
KIND = "PyTorchJob default/main"
NEVER = LevelRefusal(level=Level.POD, because="restartPolicy Never fails the whole job", remedy="take OnFailure")


class Controlled(World):
    """A job on a cluster with controllers: restarts are asked for, and their pods go when they are told to."""

    restarts: list[RestartTasks]
    ends: list[EndJob]
    refuses: frozenset[Level] = frozenset()

    def __init__(self, **changes: Any) -> None:
        super().__init__(**changes)
        self.restarts, self.ends = [], []

    def found(self, *levels: Level, refusals: tuple[LevelRefusal, ...] = ()) -> JobFound:
        identity = EventId(derive("found", *levels, *(each.because for each in refusals)))
        fields: dict[str, Any] = {"id": identity, "time": self.now, "pool": POOL, "job": JOB}
        return JobFound(**fields, spec=self.spec, kind=KIND, levels=levels or ALL, refusals=refusals)

    def find(self, *levels: Level, refusals: tuple[LevelRefusal, ...] = ()) -> "Controlled":
        self.hear(self.found(*levels, refusals=refusals))
        self.settle()
        return self

    def finished(self, how: Finish, because: str = "backoffLimit reached") -> JobFinished:
        return JobFinished(id=EventId(f"end-{how}"), time=self.now, pool=POOL, job=JOB, how=how, because=because)

    def _do(self, effect: SchedulerEffect) -> None:
        match effect:
            case RestartTasks():
                self.done.add(effect.id)
                self.acts.append(effect.id)
                self.restarts.append(effect)
                if effect.level in self.refuses:
                    self._queue(effect.failed(self.now, "its budget is used up"))
                    return
                for each in effect.lost:
                    self._leave(effect, each.ref.uid)
            case EndJob():
                self.done.add(effect.id)
                self.ends.append(effect)
                for each in effect.tasks:
                    self._leave(effect, each.ref.uid)
            case DeleteTask():
                raise AssertionError("a pod of a controller is not deleted alone")
            case other:
                super()._do(other)

    def _leave(self, effect: RestartTasks | EndJob, task: Any) -> None:
        self.placed.pop(task, None)
        self._queue(*effect.released({task: task not in self.unproven}, self.now))


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


def gone(world: World, name: str = "worker-1") -> Any:
    """Return the verdict that a task was deleted."""
    return world.verdict(category=Category.DELETED, culprit=Culprit(task=world.uid(name)))


def deleted(world: Controlled, name: str = "worker-1") -> Controlled:
    """Let somebody delete the pod of a task, and the recovery run."""
    verdict = gone(world, name)
    world.hear(world.lose(name, LossCause.DELETED))
    world.diagnose(verdict)
    world.settle()
    return world


def broken(world: Controlled, name: str = "worker-1") -> Controlled:
    """Let the device of a task break whose pod lives, and the recovery begin."""
    node = world.fold.tasks[name].node
    culprit = Culprit(node=node, task=world.uid(name))
    world.diagnose(world.verdict(category=Category.DEVICE_HARDWARE, culprit=culprit, isolate=True))
    return world


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


@pytest.mark.parametrize(
    ("how", "says", "outcome"),
    [
        (Finish.FAILED, JobFailed, Outcome.FAILED),
        (Finish.DELETED, JobStopRequested, Outcome.JOB_GONE),
        (Finish.SUCCEEDED, None, Outcome.CLEARED),
    ],
)
def test_a_job_that_its_controller_ends_closes_its_incident(
    how: Finish, says: type[Message] | None, outcome: Outcome
) -> None:
    world = Controlled().find()
    world.diagnose(answers=False)
    world.hear(world.finished(how))
    world.settle()
    assert says is None or world.last(says)
    assert world.last(IncidentClosed).outcome is outcome
    assert "backoffLimit reached" in world.last(IncidentClosed).because
    assert world.is_(Life.ENDED)


def test_the_pods_of_a_job_whose_object_is_gone_do_not_leave_as_if_it_had_succeeded() -> None:
    world = Controlled().find()
    world.hear(world.finished(Finish.DELETED))
    assert world.fold.plan is not None
    assert world.fold.plan.exit_code == STOPPED


def test_a_job_counts_as_gone_only_where_all_jobs_of_its_kind_can_be_seen() -> None:
    world = Controlled().find()
    hidden = Listing(frozenset(), unseen=frozenset({"PyTorchJob"}))
    assert list(vanished([world.fold], hidden, now=world.now)) == []
    (gone,) = vanished([world.fold], Listing(frozenset(), unseen=frozenset({"JobSet"})), now=world.now)
    assert gone.how is Finish.DELETED


def test_the_end_of_a_job_that_is_over_already_is_no_news() -> None:
    world = Controlled().find()
    world.hear(world.finished(Finish.FAILED)).settle()
    said = world.names()
    world.hear(world.finished(Finish.DELETED)).settle()
    assert world.names() == said


@pytest.mark.parametrize("well", [True, False])
def test_a_job_that_is_over_is_ended_as_one_and_its_controller_told_how(well: bool) -> None:
    world = Controlled().find()
    if well:
        world.hear(*(world.exit(rank) for rank in range(4)))
    else:
        world.hear(StopJob(id=EventId("stop"), time=world.now, pool=POOL, job=JOB, reason="enough"))
    world.settle()
    (ended,) = world.ends
    assert ended.succeeded is well
    assert world.is_(Life.ENDED)
    assert world.names()[-1] == "JobDeleted"


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
