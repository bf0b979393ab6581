"""What people choose and order: levels a job allows, nodes kept from jobs and given back, jobs looked at and ended."""

import json
from collections.abc import Callable

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Category, Level, Outcome
from tests.system.job import JobTest
from tests.system.loop import CHEAP, expect_counted

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]

StartJob = Callable[..., JobTest]
FOR_EVER = 100_000


def asked(run: JobTest, *arguments: str) -> str:
    """Run a command against this run's stack, and return what it printed."""
    done = run.keepstep(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("levels", "rank", "level", "replaced"),
    [
        ('["job"]', 3, Level.JOB, {"worker-0", "worker-1"}),
        ('["pod", "job"]', 3, Level.POD, {"worker-1"}),
        ('["pod", "job"]', 0, Level.JOB, {"worker-0", "worker-1"}),
    ],
    ids=["job-for-any-rank", "pod-for-a-worker", "job-for-rank-0"],
)
def test_a_killed_rank_costs_the_tasks_that_the_level_says(
    loop: StartJob, levels: str, rank: int, level: Level, replaced: set[str]
) -> None:
    """Tasks that are replaced have new uids; one that is kept has its own, and its ranks run in the next generation."""
    run = loop(policy=f"{CHEAP}[recovery]\nlevels = {levels}\n").until_step(15)
    before = run.placement()
    ended = expect_counted(run.kill(rank=rank, at_step=15).finish())
    ended.expect_recovered(Category.UNKNOWN, level, rank=rank)
    after = ended.job.placement()
    assert {name for name in before if after[name].task.uid != before[name].task.uid} == replaced
    assert {name: placed.ranks for name, placed in after.items()} == {n: placed.ranks for n, placed in before.items()}
    ended.expect_newest_checkpoint()


def test_a_device_that_is_lost_keeps_its_node_from_jobs(loop: StartJob) -> None:
    """The kernel's line on the device is proof: its node is isolated, and the task on it moves to the spare."""
    run = loop(spares=1).until_step(5)
    hurt = run.placement()["worker-1"].node
    asked(run, "fault", "inject", "device", "--job", "t", "--node", hurt)
    ended = expect_counted(run.finish())
    ended.expect_recovered(Category.DEVICE_HARDWARE, Level.POD)
    assert ended.only(e.NodeIsolated).node == hurt
    assert hurt not in {placed.node for placed in ended.job.placement().values()}


def test_a_node_kept_from_jobs_takes_no_task_until_it_is_released(loop: StartJob) -> None:
    """The job waits beside the spare that a person isolated and starts on it at its release; both are told with why."""
    run = loop(spares=1).until_step(5)
    before = run.placement()
    (spare,) = {"n1", "n2", "n3"} - {placed.node for placed in before.values()}
    asked(run, "node", "isolate", spare, "--reason", "smells", "--job", "t")
    run.until_said(e.NodeIsolated).inject("node-lost", node=before["worker-1"].node).until_said(e.JobWaiting)
    assert not run.said(e.RanksStarted)
    assert f"{spare} is cordoned by keepstep (smells" in run.said(e.JobWaiting)[-1].because
    asked(run, "node", "release", spare, "--reason", "new fan", "--job", "t")
    ended = expect_counted(run.finish())
    assert ended.job.placement()["worker-1"].node == spare
    isolated, released = ended.said(e.NodeIsolated)[0], ended.said(e.NodeReleased)[0]
    assert (isolated.node, released.node) == (spare, spare)
    for because, why in [(isolated.because, "smells"), (released.because, "new fan")]:
        assert because.startswith("asked for by ")
        assert because.endswith(f": {why}")


@pytest.mark.parametrize("verb", ["stop", "delete"])
def test_a_running_job_can_be_looked_at_and_ended_for_good(loop: StartJob, verb: str) -> None:
    """Each command works while it runs; after its end nothing is restarted, and no fault is called."""
    run = loop(steps=FOR_EVER).until_step(5, rank=3)
    (listed,) = json.loads(asked(run, "job", "list", "--json"))
    assert (listed["name"], listed["state"], listed["incidents"]) == ("t", "running", 0)
    nodes = json.loads(asked(run, "node", "list", "--json", "--job", "t"))
    assert sorted((node["name"], node["state"], len(node["tasks"])) for node in nodes) == [
        ("n1", "ready", 1),
        ("n2", "ready", 1),
    ]
    assert "rank-3" in asked(run, "job", "logs", "t", "--rank", "3")
    assert "JobStarted" in asked(run, "job", "events", "t")
    assert f"asked to {verb} job t" in asked(run, "job", verb, "t")
    ended = run.finish()
    assert ended.code != 0
    assert [type(event) for event in ended.events if isinstance(event, e.JobStopRequested | e.JobDeleted)] == [
        e.JobStopRequested,
        e.JobDeleted,
    ]
    for kind in (e.FaultDetected, e.RecoveryPlanned, e.RanksStarted, e.JobFailed):
        assert not ended.said(kind)
    ended.expect_nothing_left()


def test_a_job_that_is_ended_in_the_middle_of_a_recovery_stays_ended(loop: StartJob) -> None:
    """The restart that was under way is given up with it."""
    run = loop(spares=0).until_step(5)
    run.inject("node-lost", node=run.placement()["worker-1"].node).until_said(e.JobWaiting)
    asked(run, "job", "stop", "t")
    ended = run.finish()
    assert ended.only(e.IncidentClosed).outcome is Outcome.JOB_GONE
    assert not ended.said(e.RanksStarted)
    ended.expect_nothing_left()
