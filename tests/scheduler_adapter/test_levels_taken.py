"""Which level a recovery takes, whom it replaces, and the next one where it does not help."""

from datetime import timedelta

import pytest

from keepstep.contracts.events import (
    IncidentClosed,
    JobResumed,
    RecoveryFailed,
    RecoveryPlanned,
    RecoveryStarted,
    Versions,
)
from keepstep.contracts.ids import NodeName
from keepstep.contracts.policy import Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import Applied, Category, Level, LossCause, Outcome
from keepstep.contracts.topology import Culprit
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.voices import spec
from tests.scheduler_adapter.world import World


def test_a_lost_node_costs_one_replacement_on_the_spare() -> None:
    world = World().run().lose_node().settle()
    planned = world.last(RecoveryPlanned)
    assert (planned.level, len(planned.replace)) == (Level.POD, 1)
    assert world.fold.tasks["worker-1"].node == "n3"
    assert world.fold.tasks["worker-0"].incarnation == 1
    assert world.last(JobResumed).level is Level.POD
    assert world.fold.ledger.spent.keys() == {"unlimited"}


def test_losing_the_node_of_rank_0_recreates_the_whole_job() -> None:
    world = World(nodes=["n1", "n2", "n3"]).run().lose_node("worker-0").settle()
    assert world.last(RecoveryPlanned).level is Level.JOB
    assert "rank 0" in world.last(RecoveryPlanned).because
    assert [task.incarnation for task in world.fold.tasks.values()] == [2, 2]
    assert world.is_(Life.RUNNING)


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


@pytest.mark.parametrize(
    ("levels", "rank", "level", "incarnations"),
    [
        (("job",), 3, Level.JOB, [2, 2]),
        (("pod", "job"), 3, Level.POD, [1, 2]),
        (("pod", "job"), 0, Level.JOB, [2, 2]),
    ],
    ids=["job for any rank", "pod for a worker", "job for rank 0"],
)
def test_a_killed_rank_costs_what_the_job_allows(
    levels: tuple[str, ...], rank: int, level: Level, incarnations: list[int]
) -> None:
    """Without in-place a worker's task alone is replaced, and the one of rank 0 takes the whole job with it."""
    policy = Policy(recovery=RecoveryPolicy.model_validate({"levels": levels}))
    world = World(spec(policy=policy), nodes=["n1", "n2", "n3", "n4"]).run()
    before = {name: task.node for name, task in world.fold.tasks.items()}
    world.diagnose(world.verdict(culprit=Culprit(rank=rank)))
    world.settle()
    assert world.last(JobResumed).level is level
    assert [task.incarnation for task in world.fold.tasks.values()] == incarnations
    hurt = f"worker-{rank // 2}"
    assert before[hurt] not in {task.node for task in world.fold.tasks.values()}
    assert ("holds rank 0" in world.last(RecoveryPlanned).because) is (rank == 0)


@pytest.mark.parametrize(
    ("versions", "why"),
    [
        (Versions(python="3.11.2", torch="1.13.1+cu117"), "torch >= 2.0.0, worker-0 has 1.13.1+cu117"),
        (Versions(python="3.7.17", torch="2.0.1"), "Python >= 3.8.0, worker-0 has 3.7.17"),
        (Versions(python="3.11.2", torch="2.0.0a0+git1"), ""),
        (Versions(python="3.8", torch="2.0"), ""),
    ],
    ids=["torch 1", "Python 3.7", "an alpha of torch 2", "the oldest that can"],
)
def test_a_single_task_is_replaced_only_where_torch_and_python_are_new_enough(versions: Versions, why: str) -> None:
    world = World(versions=versions).run().lose_node().settle()
    planned = world.last(RecoveryPlanned)
    assert planned.level is (Level.JOB if why else Level.POD)
    assert [task.incarnation for task in world.fold.tasks.values()] == ([2, 2] if why else [1, 2])
    assert why == "" or f"not pod: replacing a task needs {why}" in planned.because


def test_no_framework_needs_no_version() -> None:
    world = World(versions=Versions(python="3.8.1")).run().lose_node().settle()
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


def test_hangs_move_on_to_other_places() -> None:
    world = World(nodes=["n1", "n2", "n3", "n4"]).run()
    levels = []
    for _ in range(4):
        world.diagnose(world.verdict(category=Category.HANG))
        world.settle()
        levels.append(world.last(JobResumed).level)
    assert levels == [Level.IN_PLACE] * 3 + [Level.POD]
