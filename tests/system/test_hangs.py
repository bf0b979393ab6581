"""Jobs that live and do not step, and those that only seem to: what the job makes of it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Category, Level, Outcome, StallSign
from tests.system.ended import Ended
from tests.system.job import ROOT, JobTest

pytestmark = [pytest.mark.system, pytest.mark.slow]

Start = Callable[..., JobTest]
Losses = dict[int, float]

COLD = "[trainer]\nwarm_ranks = 0\n"
"""Spares would be made for a restart that the test does not time."""
ORDER_OF_MAGNITUDE = 3
"""A machine that also runs other things may be this much slower than the benchmark, which measures the goals."""


def stall_of(ended: Ended) -> e.StallEvidence:
    evidence = ended.only(e.FaultDetected).evidence
    assert isinstance(evidence, e.StallEvidence)
    return evidence


def test_a_stopped_rank_is_named_within_seconds_and_restarted_in_place(job: Start, undisturbed: Losses) -> None:
    ended = job(steps=80).freeze(rank=2, at_step=25).finish()
    ended.expect_finished(steps=80, undisturbed=undisturbed)
    ended.expect_recovered(Category.HANG, Level.IN_PLACE, rank=2, task="worker-1")
    stall, accounts = stall_of(ended), ended.only(e.IncidentClosed).accounts
    assert (stall.rank, stall.sign) == (2, StallSign.STOPPED)
    assert accounts is not None
    assert accounts.detect_s < 5 * ORDER_OF_MAGNITUDE
    assert accounts.decide_s + accounts.isolate_s < ORDER_OF_MAGNITUDE
    assert accounts.lost_steps is not None
    assert 5 <= accounts.lost_steps < 15


def chatter_of(run: JobTest) -> int:
    """Return how many lines the thread beside the lock has printed."""
    assert run.record_folder is not None
    outputs = run.record_folder.glob("cluster/nodes/*/tasks/*/logs/*/rank-1.out")
    return sum(path.read_text().count("still prefetching") for path in outputs)


def test_a_rank_that_waits_on_a_lock_while_the_others_wait_for_it_is_named(
    job: Start, tmp_path: Path, undisturbed: Losses
) -> None:
    """One of its threads goes on printing: lines that flow are no life while the stack stands still."""
    fault = ("--lock-at", "25", "--lock-rank", "1", "--lock-once", str(tmp_path / "locked"))
    run = job(*fault, policy=COLD + "[detection]\noutlier_after = 3").until_said(e.FaultDetected)
    assert chatter_of(run) > 20
    ended = run.finish()
    ended.expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.HANG, Level.IN_PLACE, rank=1, task="worker-0")
    stall = stall_of(ended)
    assert (stall.rank, stall.sign, stall.step, stall.waiting) == (1, StallSign.OUTLIER, 24, False)
    assert stall.stack[0].endswith("faults.py:wait_for_ever")


def test_a_rank_that_loops_and_prints_is_named_after_the_limit(job: Start, tmp_path: Path, undisturbed: Losses) -> None:
    fault = ("--spin-at", "25", "--spin-rank", "3", "--spin-once", str(tmp_path / "spun"))
    ended = job(*fault, policy=COLD + "[detection]\nhang_limit = 8").finish()
    ended.expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.HANG, Level.IN_PLACE, rank=3, task="worker-1")
    stall = stall_of(ended)
    assert (stall.rank, stall.sign, stall.step) == (3, StallSign.NO_PROGRESS, 24)
    assert 8 <= stall.stalled_s < 8 + 5 * ORDER_OF_MAGNITUDE


@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(("--slow-first", "9"), id="first-step"),
        pytest.param(("--eval-at", "15", "--eval-seconds", "9"), id="evaluation-on-rank-0-alone"),
        pytest.param(("--slow-save", "9"), id="checkpoint"),
    ],
)
def test_what_may_take_long_is_no_hang_and_does_not_hide_a_later_one(
    job: Start, tmp_path: Path, undisturbed: Losses, slow: tuple[str, ...]
) -> None:
    fault = ("--spin-at", "25", "--spin-rank", "1", "--spin-once", str(tmp_path / "spun"))
    run = job(*slow, *fault, steps=35, save_every=20, policy=COLD + "[detection]\nhang_limit = 6")
    ended = run.finish().expect_finished(steps=35, undisturbed=undisturbed)
    ended.expect_recovered(Category.HANG, Level.IN_PLACE, rank=1)
    assert stall_of(ended).step == 24
    accounts = ended.only(e.IncidentClosed).accounts
    assert accounts is not None
    assert accounts.detect_s >= 6
    assert accounts.lost_steps == 4


def test_without_hang_detection_no_hang_is_called(job: Start, tmp_path: Path, undisturbed: Losses) -> None:
    fault = ("--lock-at", "40", "--lock-rank", "1", "--lock-once", str(tmp_path / "locked"))
    policy = COLD + "[detection]\nhang_detection = false\nhang_limit = 2\noutlier_after = 1"
    run = job(*fault, policy=policy).freeze(rank=2, at_step=15)
    run.until_said(e.RankStalled).thaw(rank=2).until_said(e.RankRecovered)
    run.until_step(39, rank=1).until_still(10, rank=1)
    assert not run.said(e.FaultDetected)
    ended = run.kill(rank=1, at_step=39).finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=1)


def test_a_job_that_gives_no_marks_is_not_called_hung(job: Start) -> None:
    policy = COLD + "[detection]\nhang_limit = 1\nphase_limits = {starting = 2}\nheartbeat_every = 0.2"
    script = (str(ROOT / "examples" / "no_marks.py"), "--seconds", "6")
    job(*script, policy=policy, checkpoints=False).finish().expect_succeeded().expect_undisturbed()


def test_a_stopped_agent_changes_nothing_while_the_ranks_step(job: Start, undisturbed: Losses) -> None:
    run = job(steps=100, policy=COLD + "[detection]\nloss_window = 2").until_step(10)
    agent = agent_of(run, "worker-1")
    os.kill(agent, signal.SIGSTOP)
    run.until_step(90)
    os.kill(agent, signal.SIGCONT)
    run.finish().expect_finished(steps=100, undisturbed=undisturbed).expect_undisturbed()


def test_a_stopped_agent_whose_ranks_stand_has_its_task_replaced(job: Start, undisturbed: Losses) -> None:
    policy = COLD + "[detection]\nloss_window = 3\n[recovery]\nstop_deadline = 3"
    run = job(spares=1, policy=policy).until_step(25)
    os.kill(agent_of(run, "worker-1"), signal.SIGSTOP)
    ended = run.freeze(rank=3, at_step=25).finish().expect_finished(steps=60, undisturbed=undisturbed)
    closed = ended.only(e.IncidentClosed)
    assert (closed.outcome, closed.category) == (Outcome.RESUMED, Category.UNKNOWN)
    assert isinstance(ended.only(e.FaultDetected).evidence, e.SilenceEvidence)
    ended.expect_culprit(ended.only(e.FaultDiagnosed), task="worker-1")
    assert closed.levels[-1] is Level.POD
    planned = ended.said(e.RecoveryPlanned)[-1]
    joined = {event.ref.uid: event.ref.name for event in ended.said(e.TaskJoined)}
    assert [joined[uid] for uid in planned.replace] == ["worker-1"]
    assert [said.to_generation for said in ended.said(e.RecoveryStarted)] == [2, 3]
    assert ended.only(e.RanksStarted).generation == 3
    started = ended.only(e.RanksStarted).time
    proofs = [said for said in ended.said(e.TaskReleased) if said.task == planned.replace[0] and said.time < started]
    assert any(proof.proven for proof in proofs)
    assert closed.accounts is not None
    assert closed.accounts.detect_s >= 3
    assert closed.accounts.lost_steps is not None
    assert 5 <= closed.accounts.lost_steps < 15


def test_a_stall_that_ends_before_its_window_is_nothing_and_the_next_one_is_called(
    job: Start, undisturbed: Losses
) -> None:
    run = job(policy=COLD + "[detection]\nstopped_after = 4").freeze(rank=2, at_step=15).until_still(1.5, rank=2)
    run.thaw(rank=2).until_step(25, rank=2)
    assert not run.said(e.RankStalled)
    ended = run.freeze(rank=2, at_step=25).finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.HANG, Level.IN_PLACE, rank=2)


def test_a_stall_that_ends_by_itself_and_the_next_one_are_two_incidents(job: Start, undisturbed: Losses) -> None:
    run = job(steps=150, policy=COLD + "[detection]\nstopped_after = 1").until_step(15)
    assert run.keepstep("pause", "--job", "t").returncode == 0
    run.until_said(e.ActionsPaused).freeze(rank=2, at_step=15).until_said(e.FaultDiagnosed).thaw(rank=2)
    run.until_said(e.IncidentClosed).until_step(30, rank=2).freeze(rank=2, at_step=30).until_said(
        e.FaultDiagnosed, count=2
    )
    assert run.keepstep("resume", "--job", "t").returncode == 0
    ended = run.finish().expect_finished(steps=150, undisturbed=undisturbed)
    assert [stalled.episode for stalled in ended.said(e.RankStalled)] == [1, 2]
    assert len({fault.id for fault in ended.said(e.FaultDetected)}) == 2
    assert [closed.outcome for closed in ended.said(e.IncidentClosed)] == [Outcome.CLEARED, Outcome.RESUMED]
    ended.expect_generations(2)


def test_a_rank_that_stops_again_after_its_restart_is_a_second_incident(job: Start, undisturbed: Losses) -> None:
    policy = COLD + "[detection]\nstopped_after = 1"
    run = job(steps=80, policy=policy).freeze(rank=2, at_step=15).until_said(e.IncidentClosed)
    ended = run.freeze(rank=2, at_step=40, generation=2).finish().expect_finished(steps=80, undisturbed=undisturbed)
    assert [closed.outcome for closed in ended.said(e.IncidentClosed)] == [Outcome.RESUMED, Outcome.RESUMED]
    assert len(ended.said(e.IncidentOpened)) == 2
    ended.expect_generations(3)


def agent_of(run: JobTest, task: str) -> int:
    """Return the pid of the task's agent."""
    uid = run.placement()[task].task.uid
    return next(pid for pid in run.processes("keepstep.agent") if f"/tasks/{uid}" in run.pids()[pid])
