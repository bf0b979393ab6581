"""Faults at awkward moments: at the start, at the end, all at once, in the middle of a recovery."""

import os
import signal
from collections.abc import Callable

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Category, Level, Outcome
from tests.system.ended import Ended
from tests.system.job import JobTest
from tests.system.loop import CHEAP, expect_counted

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]

StartJob = Callable[..., JobTest]
Losses = dict[int, float]


def expect_attempts(ended: Ended, category: Category, *levels: Level, attempts: int) -> None:
    """One incident took this many attempts through these levels."""
    closed = ended.only(e.IncidentClosed)
    assert closed.incident == ended.only(e.IncidentOpened).incident
    said = (closed.outcome, closed.category, closed.attempts, closed.levels)
    assert said == (Outcome.RESUMED, category, attempts, levels), f"{closed}\n{ended.job.told()}"
    assert ended.only(e.JobResumed).attempt == attempts


def strike(run: JobTest, *ranks: int) -> JobTest:
    """SIGKILL these ranks where they are now."""
    slots = run.slots()
    for rank in ranks:
        os.kill(slots[rank].pid, signal.SIGKILL)
    return run


def test_a_rank_killed_before_its_first_step(loop: StartJob) -> None:
    """The job may not even be called started: the fault is handled all the same."""
    run = loop(pace=0.3)
    run.until(lambda: 3 in run.slots(), "rank 3 has a process")
    assert run.slots()[3].marks == 0
    ended = expect_counted(strike(run, 3).finish())
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=3)
    assert ended.only(e.RecoveryPlanned).resume_step is None
    assert not ended.only(e.JobResumed).lost_steps


def test_a_rank_killed_while_others_have_finished(job: StartJob, undisturbed: Losses) -> None:
    """The job resumes at its last step, so no rank has a step left to make, and it succeeds."""
    run = job("--finish-skew", "3", steps=20, policy=CHEAP)
    run.until(lambda: any(event.step == 20 for event in run.said(e.CheckpointCommitted)), "step 20 is safe")
    run.until(lambda: any(event.rank == 0 for event in run.said(e.RankExited)), "rank 0 finished")
    ended = strike(run, 3).finish().expect_finished(steps=20, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=3)
    assert ended.only(e.RecoveryPlanned).resume_step == 20


def test_all_ranks_killed_at_once_are_one_incident(loop: StartJob) -> None:
    """No rank is left that could tell more."""
    run = loop().until_step(15)
    ended = expect_counted(strike(run, 0, 1, 2, 3).finish())
    culprit = ended.said(e.FaultDiagnosed)[-1].verdict.culprit
    assert culprit is not None
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=culprit.rank)


def test_the_same_rank_killed_again_before_its_first_step_moves_up_a_level(loop: StartJob) -> None:
    """What a restart in place did not help is replaced."""
    run = loop(pace=0.5).kill(rank=3, at_step=2).until_said(e.RanksStarted)
    ended = expect_counted(strike(run, 3).finish())
    expect_attempts(ended, Category.UNKNOWN, Level.IN_PLACE, Level.POD, attempts=2)
    ended.expect_generations(3)
    assert ended.only(e.RecoveryFailed).level is Level.IN_PLACE


def test_a_node_lost_while_ranks_restart_in_place(loop: StartJob) -> None:
    """The task cannot be kept: the same incident goes on at level pod, on the spare."""
    run = loop(pace=0.5, spares=1).until_step(2)
    lost = run.placement()["worker-1"].node
    ended = expect_counted(strike(run, 0).until_said(e.RanksStarted).lose(lost).finish())
    expect_attempts(ended, Category.NODE_HARDWARE, Level.IN_PLACE, Level.POD, attempts=2)
    assert ended.only(e.NodeIsolated).node == lost
    assert lost not in {placed.node for placed in ended.job.placement().values()}


def test_an_agent_killed_while_its_ranks_are_restarted(loop: StartJob) -> None:
    """The agent that comes back finds the plan and what was done of it."""
    run = loop(pace=0.2).until_step(5)
    task = run.placement()["worker-1"].task.uid
    (agent,) = (pid for pid in run.processes("keepstep.agent") if task in run.pids()[pid])
    strike(run, 3).until_said(e.RecoveryStarted)
    os.kill(agent, signal.SIGKILL)
    ended = expect_counted(run.finish())
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=3)


@pytest.mark.parametrize(("kind", "category"), [("pod-delete", Category.DELETED), ("evict", Category.PREEMPTED)])
def test_rank_0s_task_taken_away_restarts_the_job(loop: StartJob, kind: str, category: Category) -> None:
    """All tasks are made anew, and it burns no budget."""
    run = loop(policy=CHEAP + "[recovery]\nrestart_limit = 0\n").until_step(5)
    ended = expect_counted(run.inject(kind, task="worker-0").finish())
    ended.expect_recovered(category, Level.JOB, task="worker-0")


def test_a_killed_launcher_sends_its_task_to_a_spare(loop: StartJob) -> None:
    """Its node may be the reason; while there is another one it is left alone, though not isolated."""
    run = loop(spares=1).until_step(5)
    before = run.placement()
    ended = expect_counted(run.inject("launcher-kill", task="worker-1").finish())
    ended.expect_recovered(Category.UNKNOWN, Level.POD, task="worker-1")
    nodes = {placed.node for placed in ended.job.placement().values()}
    assert before["worker-1"].node not in nodes
    assert not ended.said(e.NodeIsolated)


def test_two_lost_nodes_are_one_incident(loop: StartJob) -> None:
    """Both tasks move; of the two nodes the guard lets one be isolated."""
    run = loop(spares=2).until_step(5)
    before = run.placement()
    lost = {placed.node for placed in before.values()}
    ended = expect_counted(run.lose(*lost).finish())
    culprit = ended.said(e.FaultDiagnosed)[-1].node
    (task,) = (name for name, placed in before.items() if placed.node == culprit)
    ended.expect_recovered(Category.NODE_HARDWARE, Level.JOB, task=task)
    assert len(ended.said(e.NodeIsolated)) <= 1
    assert not lost & {placed.node for placed in ended.job.placement().values()}


def test_a_lost_spare_is_nothing_to_the_job(loop: StartJob) -> None:
    """Nothing of it runs there."""
    run = loop(spares=1).until_step(5)
    (spare,) = {"n1", "n2", "n3"} - {placed.node for placed in run.placement().values()}
    expect_counted(run.inject("node-lost", node=spare).finish()).expect_undisturbed()


def test_a_job_that_will_not_wait_fails_with_what_is_missing(loop: StartJob) -> None:
    """Without a spare and with ``pending = "fail"`` the loss of a node ends it."""
    run = loop(policy=CHEAP + '[recovery]\npending = "fail"\n').until_step(5)
    lost = run.placement()["worker-1"].node
    ended = run.inject("node-lost", node=lost).finish()
    assert ended.code != 0
    assert lost in ended.only(e.JobFailed).because
    assert ended.only(e.IncidentClosed).outcome is Outcome.FAILED
    ended.expect_nothing_left()
