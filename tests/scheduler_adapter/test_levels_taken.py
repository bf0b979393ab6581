"""Which level a recovery takes, whom it replaces, and what follows when it does not help."""

from datetime import timedelta

import pytest

from keepstep.contracts.events import (
    FaultDetected,
    IncidentClosed,
    JobFailed,
    JobResumed,
    RecoveryFailed,
    RecoveryPlanned,
    RecoveryStarted,
    SilenceEvidence,
    Versions,
)
from keepstep.contracts.ids import EventId, NodeName
from keepstep.contracts.policy import Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import Applied, Category, Level, LossCause, Outcome, Phase
from keepstep.contracts.topology import Culprit
from keepstep.core.sentences import sentence
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.world import JOB, POOL, World, spec


def policy(**recovery: object) -> Policy:
    return Policy(recovery=RecoveryPolicy.model_validate(recovery))


def lose_node(world: World, name: str = "worker-1") -> World:
    task = world.fold.tasks[name]
    culprit = Culprit(node=task.node, task=task.ref.uid)
    world.hear(world.lose(name))
    world.diagnose(world.verdict(category=Category.NODE_HARDWARE, culprit=culprit, isolate=True))
    return world


def test_a_lost_node_costs_one_replacement_on_the_spare() -> None:
    world = lose_node(World().run()).settle()
    planned = world.last(RecoveryPlanned)
    assert (planned.level, len(planned.replace)) == (Level.POD, 1)
    assert world.fold.tasks["worker-1"].node == "n3"
    assert world.fold.tasks["worker-0"].incarnation == 1
    assert world.last(JobResumed).level is Level.POD
    assert world.fold.ledger.spent.keys() == {"unlimited"}


def test_losing_the_node_of_rank_0_recreates_the_whole_job() -> None:
    world = lose_node(World(nodes=["n1", "n2", "n3"]).run(), "worker-0").settle()
    assert world.last(RecoveryPlanned).level is Level.JOB
    assert "rank 0" in world.last(RecoveryPlanned).because
    assert [task.incarnation for task in world.fold.tasks.values()] == [2, 2]
    assert world.is_(Life.RUNNING)


def test_without_a_spare_the_job_waits_with_its_reason_until_a_node_returns() -> None:
    world = lose_node(World(nodes=["n1", "n2"]).run()).settle()
    assert world.fold.shortage is not None
    assert world.fold.shortage.because == "needs 1 node, 0 free"
    assert "level" not in world.waits_for()
    world.nodes["n2"] = True
    world.act()
    world.settle()
    assert world.last(JobResumed).level is Level.POD
    assert world.fold.shortage is None


def test_a_shortage_past_its_limit_takes_the_next_level() -> None:
    job = spec(policy=policy(pending_limit=60))
    world = lose_node(World(job, nodes=["n1", "n2"]).run()).settle()
    world.pass_deadline("pending").settle()
    assert world.last(RecoveryFailed).level is Level.POD
    assert world.last(RecoveryPlanned).level is Level.JOB


def test_a_job_that_never_goes_beyond_pod_waits_on() -> None:
    job = spec(policy=policy(pending_limit=60, levels=("in-place", "pod")))
    world = lose_node(World(job, nodes=["n1", "n2"]).run()).settle()
    world.pass_deadline("pending").settle()
    assert world.all(RecoveryFailed) == []
    assert not {"pending", "level"} & world.waits_for()


def test_a_job_told_to_fail_without_room_fails() -> None:
    job = spec(policy=policy(pending="fail", levels=("in-place", "pod")))
    world = lose_node(World(job, nodes=["n1", "n2"]).run()).settle()
    world.pass_deadline("pending").settle()
    assert world.is_(Life.ENDED)
    assert world.last(IncidentClosed).outcome is Outcome.FAILED


def test_a_task_lost_without_proof_is_given_out_again_only_after_its_own_fence() -> None:
    world = World().run()
    task = world.fold.tasks["worker-1"]
    world.silent.add("worker-1")
    world.hear(world.lose("worker-1", LossCause.UNKNOWN, proven=False))
    world.diagnose(world.verdict(culprit=Culprit(task=task.ref.uid)))
    world.silent.clear()
    world.unproven.add(task.ref.uid)
    world.settle()
    world.pass_deadline("stop").settle()
    assert not world.all(JobResumed)
    world.pass_deadline("fence").settle()
    fence = world.spec.policy.trainer.self_fence_after + world.spec.policy.recovery.reissue_margin
    assert world.now - world.last(RecoveryPlanned).time > fence
    assert world.last(JobResumed).level is Level.POD


def test_a_task_that_fell_silent_while_it_evaluated_is_given_out_again_after_the_limit_of_that() -> None:
    world = World().run()
    task = world.fold.tasks["worker-1"]
    silence = SilenceEvidence(silent_s=11, phase=Phase.EVALUATION)
    world.silent.add("worker-1")
    world.hear(
        FaultDetected(
            id=EventId("silence"),
            time=world.now,
            pool=POOL,
            job=JOB,
            task=task.ref.uid,
            subject_name="task worker-1",
            occurred=world.now,
            evidence=silence,
            because="silent",
        )
    )
    world.diagnose(world.verdict(culprit=Culprit(task=task.ref.uid)))
    world.unproven.add(task.ref.uid)
    world.settle()
    world.pass_deadline("stop").settle().pass_deadline("stop").settle()
    stopped = world.now
    world.pass_deadline("fence").settle()
    assert world.now - stopped > world.spec.policy.detection.limit_of(Phase.EVALUATION)


def test_a_task_lost_before_its_first_step_is_given_out_again_only_on_proof() -> None:
    world = World()
    world.steps = False
    world.run()
    uid = world.uid("worker-1")
    world.silent.add("worker-1")
    world.hear(world.lose("worker-1", LossCause.UNKNOWN, proven=False))
    world.diagnose(world.verdict(culprit=Culprit(task=uid)))
    world.silent.clear()
    world.unproven.add(uid)
    world.settle()
    world.pass_deadline("stop").settle()
    assert "fence" not in world.waits_for()
    world.hear(world.lost_for_good(uid)).settle()
    assert world.fold.generation == 2


def test_a_single_task_is_given_out_again_only_on_proof() -> None:
    world = World(spec(nodes=1)).run()
    uid = world.uid("worker-0")
    world.hear(world.lose("worker-0", LossCause.UNKNOWN, proven=False))
    world.diagnose(world.verdict(culprit=Culprit(task=uid)))
    world.unproven.add(uid)
    world.settle().pass_deadline("stop").settle()
    assert "fence" not in world.waits_for()
    assert not world.all(JobResumed)
    world.hear(world.lost_for_good(uid)).settle()
    assert world.last(JobResumed).level is Level.JOB


@pytest.mark.parametrize("by", [LossCause.DELETED, LossCause.EVICTED, LossCause.PREEMPTED])
def test_a_deleted_task_burns_no_budget_and_may_return_to_its_node(by: LossCause) -> None:
    world = World(nodes=["n1", "n2"]).run()
    uid = world.uid("worker-1")
    world.hear(world.lose("worker-1", by))
    category = Category.PREEMPTED if by is LossCause.PREEMPTED else Category.DELETED
    world.diagnose(world.verdict(category=category, culprit=Culprit(task=uid)))
    world.settle()
    assert world.fold.tasks["worker-1"].node == "n2"
    assert world.fold.ledger.total == 0
    assert world.fold.ledger.spent == {}


def lose_launcher(world: World) -> World:
    uid = world.uid("worker-1")
    world.hear(world.lose("worker-1", LossCause.LAUNCHER_EXITED))
    world.diagnose(world.verdict(culprit=Culprit(task=uid)))
    return world.settle()


def test_a_lost_launcher_is_replaced_on_another_node_where_there_is_one() -> None:
    assert lose_launcher(World().run()).fold.tasks["worker-1"].node == "n3"


def test_a_lost_launcher_is_replaced_on_its_own_node_where_there_is_no_other() -> None:
    assert lose_launcher(World(nodes=["n1", "n2"]).run()).fold.tasks["worker-1"].node == "n2"


def test_a_node_that_should_be_out_and_is_not_is_never_used_again() -> None:
    world = World(nodes=["n1", "n2"]).run()
    verdict = world.verdict(category=Category.DEVICE_HARDWARE, culprit=Culprit(node=NodeName("n2")), isolate=True)
    event = world.diagnose(verdict, answers=False)
    world.hear(world.chosen(event), world.fenced(event, isolated=False)).settle()
    assert world.fold.avoid == ("n2",)
    assert world.fold.shortage is not None


def test_an_old_torch_has_no_single_task_replaced() -> None:
    world = lose_node(World(versions=Versions(python="3.11.2", torch="1.13.1+cu117")).run()).settle()
    planned = world.last(RecoveryPlanned)
    assert planned.level is Level.JOB
    assert "needs torch >= 2.0.0" in planned.because


def test_no_framework_needs_no_version() -> None:
    world = lose_node(World(versions=Versions(python="3.8.1")).run()).settle()
    assert world.fold.tasks["worker-0"].incarnation == 1


def test_a_task_that_does_not_confirm_its_stop_is_replaced() -> None:
    world = World().run()
    world.silent.add("worker-1")
    world.diagnose()
    world.settle()
    assert not world.all(RecoveryFailed)
    world.silent.clear()
    world.pass_deadline("stop").settle()
    failed = world.last(RecoveryFailed)
    assert (failed.level, failed.because) == (Level.IN_PLACE, "worker-1 silent for 15 s")
    assert world.last(IncidentClosed).levels == (Level.IN_PLACE, Level.POD)
    assert [started.to_generation for started in world.heard if isinstance(started, RecoveryStarted)] == [2, 3]
    assert world.fold.ledger.total == 1


def test_ranks_that_cannot_be_reaped_cost_the_node() -> None:
    world = World().run()
    world.silent.add("worker-1")
    world.diagnose()
    world.settle()
    ref = world.fold.tasks["worker-1"].ref
    world.silent.clear()
    world.hear(world.applied(ref, 2, Applied.STOPPED, unkillable=(3,))).settle()
    assert world.fold.tasks["worker-1"].node == "n3"
    assert world.fold.avoid == ("n2",)
    assert world.last(IncidentClosed).levels == (Level.IN_PLACE, Level.POD)


def test_levels_that_bring_no_first_step_degrade_to_the_end() -> None:
    world = World().run()
    world.steps = False
    world.diagnose()
    world.settle().pass_deadline("level").settle()
    assert world.last(RecoveryPlanned).level is Level.POD
    world.pass_deadline("level").settle()
    assert world.last(RecoveryPlanned).level is Level.JOB
    world.pass_deadline("level").settle()
    assert world.last(IncidentClosed).levels == (Level.IN_PLACE, Level.POD, Level.JOB)
    assert world.last(IncidentClosed).outcome is Outcome.FAILED
    assert [failed.level for failed in world.all(RecoveryFailed)] == [Level.IN_PLACE, Level.POD, Level.JOB]
    assert world.is_(Life.ENDED)


def test_storage_is_given_time_then_restarted_in_place() -> None:
    world = World().run()
    world.diagnose(world.verdict(category=Category.STORAGE, because="No space left on device"))
    world.settle()
    assert world.last(RecoveryPlanned).level is Level.WAIT
    assert world.all(RecoveryFailed) == []
    world.pass_deadline("wait").settle()
    assert world.last(IncidentClosed).levels == (Level.WAIT, Level.IN_PLACE)
    assert world.last(JobResumed).level is Level.IN_PLACE


def test_a_second_storage_fault_waits_longer() -> None:
    world = World().run()
    waits = []
    for _ in range(2):
        world.diagnose(world.verdict(category=Category.STORAGE))
        world.settle()
        before = world.now
        world.pass_deadline("wait").settle()
        waits.append(world.now - before > timedelta(seconds=1.5))
    assert waits == [False, True]


def user_code(world: World, step: int | None) -> World:
    verdict = world.verdict(category=Category.USER_CODE, signature="KeyError: 'x'", step=step, culprit=Culprit(rank=1))
    world.diagnose(verdict)
    return world.settle()


def test_the_same_exception_at_the_same_step_ends_the_job_with_its_last_line() -> None:
    world = user_code(user_code(World().run(), 36), 36)
    failed = world.last(JobFailed)
    assert (failed.category, failed.last_line) == (Category.USER_CODE, "KeyError: 'x'")
    assert world.last(IncidentClosed).outcome is Outcome.FAILED
    assert len(world.all(JobResumed)) == 1
    assert world.is_(Life.ENDED)
    assert world.placed == {}


def test_a_failure_that_is_not_retriable_ends_the_job_at_once_and_tells_its_cause_once() -> None:
    words = "rank 1 said: python: No module named absent"
    world = World().run()
    world.diagnose(
        world.verdict(category=Category.USER_CONFIG, signature="No module named absent", because=words, retriable=False)
    )
    failed = world.settle().last(JobFailed)
    assert failed.because == f"user_config is not worth a retry: {words}"
    assert sentence(failed, {}).count("No module named absent") == 1
    assert world.all(JobResumed) == []


def test_the_same_exception_after_progress_is_tried_again_within_its_budget() -> None:
    world = user_code(user_code(World().run(), 36), 48)
    assert len(world.all(JobResumed)) == 2
    assert user_code(world, 60).is_(Life.ENDED)


def test_unknown_failures_end_the_job_after_three_in_an_hour() -> None:
    world = World().run()
    for _ in range(3):
        world.diagnose()
        assert world.settle().is_(Life.RUNNING)
    world.diagnose()
    assert world.settle().is_(Life.ENDED)
    assert "3 of 3 unknown recoveries used" in world.last(JobFailed).because


def test_the_budget_is_whole_again_after_its_window() -> None:
    world = World().run()
    for _ in range(8):
        world.diagnose()
        assert world.settle().is_(Life.RUNNING)
        world.now += timedelta(minutes=21)


def test_hangs_move_on_to_other_places() -> None:
    world = World(nodes=["n1", "n2", "n3", "n4"]).run()
    levels = []
    for _ in range(4):
        world.diagnose(world.verdict(category=Category.HANG))
        world.settle()
        levels.append(world.last(JobResumed).level)
    assert levels == [Level.IN_PLACE] * 3 + [Level.POD]


def test_all_tasks_failing_at_once_after_each_start_end_the_job() -> None:
    world = World().run()
    world.steps = False
    for attempt in range(1, 4):
        assert not world.is_(Life.ENDED)
        generation = world.fold.generation
        if attempt == 1:
            world.put_back_to_start()
        world.hear(*(world.exit(rank, code=1, ran_s=2, generation=generation) for rank in (0, 2)))
        world.diagnose(world.verdict(culprit=Culprit(rank=attempt)), attempt=attempt)
        world.settle()
    assert "failed within 10 s of their start 3 times in a row" in world.last(JobFailed).because


def test_a_task_lost_while_another_still_has_no_room_is_replaced_before_the_first_start() -> None:
    world = World().create()
    world.silent.add("worker-0")
    world.pending = [message for message in world.pending if message.task != world.uid("worker-0")]
    world.settle()
    assert world.is_(Life.PLACING)
    task = world.fold.tasks["worker-1"]
    world.hear(world.lose("worker-1"))
    culprit = Culprit(node=task.node, task=task.ref.uid)
    world.diagnose(world.verdict(category=Category.NODE_HARDWARE, culprit=culprit, isolate=True))
    world.settle()
    world.silent.clear()
    master = world.fold.tasks["worker-0"].ref
    world.hear(world.joined(master, "n1")).settle()
    assert world.is_(Life.RUNNING)
    assert world.fold.generation == 2
    assert world.fold.tasks["worker-1"].node == "n3"
