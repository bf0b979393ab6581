"""Agents, launchers, tasks and nodes that are lost: what goes on, what is replaced, where, and what it costs."""

import os
import signal
from collections.abc import Callable

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Category, Level, LossCause, Outcome
from tests.system.ended import Ended
from tests.system.job import JobTest

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]

CHEAP = "[trainer]\nwarm_ranks = 0\n"
"""Where a restart's speed does not matter, spare interpreters only load the machine."""
SOON_RELEASED = CHEAP + "[isolation]\nrelease_after = 1.0\n"
ONE_RESTART = CHEAP + "[recovery]\nrestart_limit = 1\n"

StartJob = Callable[..., JobTest]
Losses = dict[int, float]


def agents(run: JobTest) -> set[int]:
    """Return the agents that live."""
    return set(run.processes("keepstep.agent"))


def test_training_goes_on_without_its_agent(job: StartJob, undisturbed: Losses) -> None:
    """The agent comes back and takes up its work; nobody calls it a fault."""
    run = job(steps=60, policy=CHEAP).until_step(10)
    first = agents(run)
    run.inject("agent-kill", task="worker-1").until(lambda: len(agents(run) - first) == 1, "a new agent")
    (new,) = agents(run) - first
    run.until(lambda: len(run.said(e.TaskJoined)) == 3, "the new agent joined")
    assert len(agents(run)) == 2
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed).expect_undisturbed()
    rejoined = ended.said(e.TaskJoined)[-1]
    assert (rejoined.ref.name, rejoined.applied) == ("worker-1", 1), f"agent {new}"


def test_a_rank_killed_while_its_agent_is_down_is_reported(job: StartJob, undisturbed: Losses) -> None:
    """The launcher keeps the exit until an agent takes it: here there is none for a while, it is stopped first."""
    run = job(steps=60, policy=CHEAP).until_step(25)
    task = run.placement()["worker-1"].task.uid
    (agent,) = (pid for pid in agents(run) if task in run.pids()[pid])
    os.kill(agent, signal.SIGSTOP)
    os.kill(run.slots()[3].pid, signal.SIGKILL)
    run.until(lambda: not _lives(run.slots()[3].pid), "rank 3 is gone")
    os.kill(agent, signal.SIGKILL)
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.IN_PLACE, rank=3)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_task_whose_launcher_is_killed_is_replaced(job: StartJob, undisturbed: Losses) -> None:
    """Its ranks die with it; the other task keeps its place."""
    run = job(steps=60, policy=CHEAP).until_step(25)
    before = run.placement()
    ended = run.inject("launcher-kill", task="worker-1").finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.UNKNOWN, Level.POD, task="worker-1")
    assert ended.only(e.TaskLost).by is LossCause.LAUNCHER_EXITED
    _expect_replaced(ended, before, {"worker-1"})
    assert not ended.said(e.NodeIsolated)


def test_a_lost_node_is_isolated_and_its_task_moves_to_a_spare(job: StartJob, undisturbed: Losses) -> None:
    """Only the lost task is replaced."""
    run = job(steps=60, spares=1, policy=CHEAP).until_step(25)
    before = run.placement()
    lost = before["worker-1"].node
    ended = run.inject("node-lost", node=lost).finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.NODE_HARDWARE, Level.POD, task="worker-1")
    assert ended.only(e.NodeIsolated).node == lost
    _expect_replaced(ended, before, {"worker-1"})
    assert ended.job.placement()["worker-1"].node not in {lost, before["worker-0"].node}
    assert not ended.said(e.JobWaiting)


def test_the_node_of_rank_0_takes_the_whole_job_with_it(job: StartJob, undisturbed: Losses) -> None:
    """Level pod does not replace the task that holds rank 0; all tasks are made anew, off the lost node."""
    run = job(steps=60, spares=1, policy=CHEAP).until_step(25)
    before = run.placement()
    lost = before["worker-0"].node
    ended = run.inject("node-lost", node=lost).finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.NODE_HARDWARE, Level.JOB, task="worker-0")
    assert ended.only(e.NodeIsolated).node == lost
    _expect_replaced(ended, before, {"worker-0", "worker-1"})
    assert lost not in {placed.node for placed in ended.job.placement().values()}


def test_without_a_spare_the_job_waits_until_the_node_is_back(job: StartJob, undisturbed: Losses) -> None:
    """It says what it waits for; the node is released once it was ready for a while, and the job goes on."""
    run = job(steps=60, policy=SOON_RELEASED).until_step(25)
    before = run.placement()
    lost = before["worker-1"].node
    run.inject("node-lost", node=lost).until_said(e.JobWaiting)
    run.revive(lost)
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.NODE_HARDWARE, Level.POD, task="worker-1")
    assert lost in ended.said(e.JobWaiting)[0].because
    assert ended.only(e.NodeIsolated).node == ended.only(e.NodeReleased).node == lost
    _expect_replaced(ended, before, {"worker-1"})
    assert ended.job.placement()["worker-1"].node == lost


def test_a_deleted_task_is_replaced_and_burns_no_budget(job: StartJob, undisturbed: Losses) -> None:
    """One restart is allowed; the deletion does not take it, so the rank that is killed afterwards still gets it."""
    run = job(steps=80, policy=ONE_RESTART).until_step(25)
    before = run.placement()
    run.inject("pod-delete", task="worker-1").until_said(e.JobResumed)
    after = run.placement()
    assert after["worker-0"] == before["worker-0"]
    assert after["worker-1"].task.uid != before["worker-1"].task.uid
    run.kill(rank=3, at_step=45, generation=2)
    ended = run.finish().expect_finished(steps=80, undisturbed=undisturbed)
    closed = ended.said(e.IncidentClosed)
    assert [(each.outcome, each.category, each.levels) for each in closed] == [
        (Outcome.RESUMED, Category.DELETED, (Level.POD,)),
        (Outcome.RESUMED, Category.UNKNOWN, (Level.IN_PLACE,)),
    ]
    assert "0 of 3 unknown recoveries used" in ended.said(e.RecoveryPlanned)[-1].because
    assert not ended.said(e.IsolationDeclined)[0].dry_run
    assert not ended.said(e.NodeIsolated)
    ended.expect_generations(3)


def test_a_drained_node_is_left_after_the_next_checkpoint(job: StartJob, undisturbed: Losses) -> None:
    """A person's planned act: the task moves to the spare, few steps are lost and no budget is burnt."""
    run = job(steps=60, pace=0.2, spares=1, policy=ONE_RESTART).until_said(e.CheckpointCommitted)
    before = run.placement()
    node = before["worker-1"].node
    drained = run.keepstep("node", "drain", node, "--reason", "new fan", "--job", "t")
    assert drained.returncode == 0, drained.stderr
    assert f"asked to move its task off {node}, after its next checkpoint or 60 s" in drained.stdout
    ended = run.finish().expect_finished(steps=60, undisturbed=undisturbed)
    ended.expect_recovered(Category.PREEMPTED, Level.POD, task="worker-1")
    lost = ended.only(e.TaskLost)
    assert lost.by is LossCause.DRAINED
    assert lost.cause in {saved.id for saved in ended.said(e.CheckpointCommitted)}
    assert (ended.only(e.JobResumed).lost_steps or 0) < 10
    assert "is moved as planned" in ended.said(e.FaultDiagnosed)[-1].verdict.because
    assert node not in {placed.node for placed in ended.job.placement().values()}
    _expect_replaced(ended, before, {"worker-1"})


def _expect_replaced(ended: Ended, before: dict[str, e.Placed], names: set[str]) -> None:
    """These tasks have new uids, the others are where and what they were, and each keeps its ranks."""
    after = ended.job.placement()
    assert {name for name in before if after[name].task.uid != before[name].task.uid} == names
    assert all(after[name] == before[name] for name in before.keys() - names)
    assert {name: placed.ranks for name, placed in after.items()} == {n: placed.ranks for n, placed in before.items()}
