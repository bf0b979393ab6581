"""What is a fault and what is not."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.contracts.events import (
    ExitEvidence,
    JobSucceeded,
    LogMatched,
    LossEvidence,
    PlanApplied,
    RankRecovered,
    RankStalled,
    StallEvidence,
    UnkillableEvidence,
)
from keepstep.contracts.message import Message
from keepstep.contracts.policy import DetectionPolicy, LogPattern
from keepstep.contracts.taxonomy import Applied, Category, LossCause, StallSign
from keepstep.detector.core import deadlines, over
from tests.detector.facts import (
    JOB,
    START,
    World,
    about,
    accepted,
    exited,
    joined,
    lost,
    node,
    passed,
    recovered,
    running,
    task,
)


def stalled(rank: int, episode: int = 1, generation: int = 1) -> RankStalled:
    return RankStalled(
        **about(f"stalled {episode}", rank=rank, generation=generation),
        rank=rank,
        sign=StallSign.STOPPED,
        state="T",
        since=START - timedelta(seconds=2),
        step=30,
        episode=episode,
    )


def matched(rank: int, rule: str, offset: int = 10) -> LogMatched:
    return LogMatched(
        **about(f"log {rule} {offset}", rank=rank),
        rank=rank,
        rule=rule,
        category=Category.UNKNOWN,
        line="Loss nan",
        source="err",
        offset=offset,
    )


@pytest.mark.parametrize(("code", "signal"), [(1, None), (17, None), (None, 9), (None, 11), (None, None)])
def test_an_exit_nobody_asked_for_is_one_fault(code: int | None, signal: int | None) -> None:
    world = running()
    event = exited(3, code=code, signal=signal)
    world.hear(event, event)
    (fault,) = world.faults
    assert (fault.subject_name, fault.task, fault.node, fault.generation) == ("rank 3", task(1).uid, node(1), 1)
    assert isinstance(fault.evidence, ExitEvidence)
    assert fault.cause == event.id


def test_an_ordered_exit_and_an_exit_with_0_are_no_faults() -> None:
    world = running()
    world.hear(exited(0, code=0), exited(1, signal=15, ordered=True))
    assert not world.faults


def test_an_exit_of_an_older_generation_is_dropped_and_counted() -> None:
    world = running()
    world.hear(*recovered(2), exited(3, signal=9, generation=1))
    assert not world.faults
    assert world.job.dropped == 1
    world.hear(exited(3, signal=9, generation=2))
    assert len(world.faults) == 1


def test_a_task_that_was_replaced_says_nothing_any_more() -> None:
    world = running()
    world.hear(*recovered(2, replace=(task(1).uid,)))
    world.hear(exited(3, signal=9, generation=2, ref=task(1)), lost(1), joined(task(1)))
    assert not world.faults
    assert task(1).uid not in world.job.tasks
    world.hear(joined(task(1, incarnation=2)))
    world.hear(exited(3, signal=9, generation=2, ref=task(1, incarnation=2)))
    assert [fault.task for fault in world.faults] == [task(1, incarnation=2).uid]


def test_an_exit_before_the_job_started_is_a_fault_too() -> None:
    world = World()
    world.hear(accepted(DetectionPolicy()), *[joined(task(index)) for index in range(2)], exited(1, code=2))
    assert len(world.faults) == 1


def test_stall_recover_and_stall_again_are_two_faults() -> None:
    world = running()
    recover = RankRecovered(**about("recovered", rank=2), rank=2, episode=1)
    world.hear(stalled(2), stalled(2), recover, stalled(2), recover, stalled(2, episode=2))
    assert len({fault.id for fault in world.faults}) == len(world.faults) == 2
    assert [cleared.cause for cleared in world.cleared] == [world.faults[0].id]
    assert isinstance(world.faults[0].evidence, StallEvidence)
    assert world.faults[0].evidence.stalled_s == 2.0


def test_a_stopped_rank_is_no_fault_where_hang_detection_is_off() -> None:
    world = running(DetectionPolicy(hang_detection=False))
    world.hear(stalled(2))
    assert world.faults == []


def test_a_stall_does_not_outlive_its_generation() -> None:
    world = running()
    world.hear(stalled(2), *recovered(2), stalled(2, generation=2))
    assert [fault.generation for fault in world.faults] == [1, 2]


def test_only_lines_somebody_asked_for_are_faults_and_once_a_rank() -> None:
    policy = DetectionPolicy(log_patterns=(LogPattern(name="nan", regex="Loss nan"),))
    world = running(policy)
    world.hear(matched(1, "nan"), matched(1, "nan", offset=99), matched(1, "other"), matched(2, "gpu-ecc"))
    assert [fault.subject_name for fault in world.faults] == ["rank 1", "rank 2"]


def test_a_lost_task_is_a_fault_once() -> None:
    world = running()
    world.hear(lost(1), lost(1))
    (fault,) = world.faults
    assert fault.evidence == LossEvidence(by=LossCause.NODE_LOST, proven=True)
    assert fault.node == node(1)


def test_a_task_lost_during_a_recovery_is_a_fault_of_the_generation_to_come() -> None:
    world = running()
    world.hear(*recovered(2), lost(1))
    assert [fault.generation for fault in world.faults] == [2]


def test_a_task_whose_ranks_had_all_finished_may_go() -> None:
    world = running()
    world.hear(exited(2, code=0), exited(3, code=0), lost(1, by=LossCause.LAUNCHER_EXITED))
    assert not world.faults
    world.hear(exited(0, code=0), lost(0))
    assert len(world.faults) == 1


def test_ranks_that_sigkill_does_not_end_are_a_fault_of_the_next_generation() -> None:
    world = running()
    world.hear(*recovered(2))
    applied = about("applied", rank=3, generation=2)
    world.hear(PlanApplied(**applied, applied=Applied.STOPPED, unkillable=(3,)))
    (fault,) = world.faults
    assert (fault.evidence, fault.generation) == (UnkillableEvidence(ranks=(3,)), 2)


def test_a_job_that_ended_has_no_faults() -> None:
    world = running()
    world.hear(JobSucceeded(**about("succeeded")), exited(1, signal=9), lost(0))
    assert not world.faults


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_order_and_duplicates_of_observations_give_the_same_faults(data: st.DataObject) -> None:
    once = [
        exited(0, signal=9),
        exited(1, code=1),
        stalled(2),
        matched(3, "gpu-ecc"),
        lost(1),
        exited(0, signal=9, generation=0),
    ]
    plain = running()
    plain.hear(*once)
    shaken = running()
    shaken.hear(*data.draw(st.permutations(once + once[:4])))
    assert {fault.id for fault in shaken.faults} == {fault.id for fault in plain.faults}
    assert len(shaken.faults) == len(plain.faults)


def test_a_job_that_ended_is_forgotten_a_day_later() -> None:
    world = running()
    world.hear(JobSucceeded(**about("done")))
    (deadline,) = deadlines(world.folds[JOB.uid])
    assert deadline.due - world.now == timedelta(days=1)
    assert not over(world.folds[JOB.uid])
    world.hear(passed(JOB.uid, deadline))
    assert over(world.folds[JOB.uid])
    assert not deadlines(world.folds[JOB.uid])


@pytest.mark.parametrize("late", [exited(1, signal=9), joined(task(0)), lost(0)])
def test_a_late_message_of_a_forgotten_job_is_no_fault_and_is_forgotten_in_turn(late: Message) -> None:
    world = World()
    world.hear(late, joined(task(1)), exited(3, signal=9))
    assert not world.faults
    (deadline,) = deadlines(world.folds[JOB.uid])
    world.hear(passed(JOB.uid, deadline))
    assert over(world.folds[JOB.uid])


def test_a_job_that_is_accepted_after_a_stray_message_of_it_is_watched() -> None:
    world = World()
    world.hear(exited(3, signal=9), accepted(DetectionPolicy()), joined(task(1)), exited(3, signal=9))
    assert [fault.subject_name for fault in world.faults] == ["rank 3"]


def test_a_job_that_ended_is_not_begun_again_by_its_acceptance_said_twice() -> None:
    world = running()
    world.hear(JobSucceeded(**about("done")), accepted(DetectionPolicy()), exited(1, signal=9))
    assert not world.faults
