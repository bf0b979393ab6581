"""Tasks as the scheduler-adapter sees them on a cluster: lost, waited for, bound, told, in plain words."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.adapters import kube_workloads
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.contracts.taxonomy import LossCause
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.ports.errors import NoRoom
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.server.deletion import DeleteOptions
from tests.kube.stage import NOWHERE, launches, placed, stage
from tests.kube.watched import follow, running

DELETED = DeleteOptions(grace=0)


async def test_a_pod_that_somebody_deletes_is_a_lost_task_and_its_successor_is_not_that_task(tmp_path: Path) -> None:
    async with running(tmp_path) as (on, hands, job, watcher):
        lost = launches(job.job)[1].task
        name = next(name for name, task in on.tasks().items() if task == lost.uid)
        on.there.store.delete(kinds.POD, name, "default")
        status = (await watcher.until_gone([lost.uid]))[lost.uid]
        assert (status.by, status.job, status.ref) == (LossCause.DELETED, job.job.uid, lost)
        await until(lambda: len(on.pods()) == 2)
        assert watcher.phases(lost.uid) == [TaskPhase.RUNNING, TaskPhase.GONE]
        assert [one.ref.uid for one in await hands.workloads.tasks(job.job.uid) if one.phase is TaskPhase.RUNNING] == [
            launches(job.job)[0].task.uid
        ]


async def test_a_pod_that_went_in_a_gap_of_the_watch_is_found_by_the_relist(tmp_path: Path) -> None:
    async with running(tmp_path) as (on, _, job, watcher):
        lost = launches(job.job)[1].task
        name = next(name for name, task in on.tasks().items() if task == lost.uid)
        await on.there.server.down()
        on.there.store.delete(kinds.POD, name, "default", DELETED)
        on.there.store.compact()
        await on.there.server.up()
        heard = await watcher.until(lambda heard: any(one.phase is TaskPhase.GONE for one in heard))
        last = next(one for one in reversed(heard) if one.ref.uid == lost.uid)
        assert last.phase is TaskPhase.GONE
        assert "nobody saw it go" in last.text or "deleted" in last.text


async def test_a_silent_node_takes_no_task_and_a_deleted_one_takes_its_task_with_proof(tmp_path: Path) -> None:
    """Its agents may still be heard; their silence is the detector's to tell."""
    async with running(tmp_path) as (on, hands, job, watcher):
        lost = launches(job.job)[1].task
        name = next(name for name, task in on.tasks().items() if task == lost.uid)
        node = on.pods()[name]["spec"]["nodeName"]
        on.kubelet.lose(node)
        await until(lambda: not hands.sight.nodes[node].ready)
        assert all(one.phase is not TaskPhase.GONE for one in await hands.workloads.tasks(job.job.uid))
        on.there.store.delete(kinds.NODE, node)
        status: TaskStatus = (await watcher.until_gone([lost.uid]))[lost.uid]
        assert (status.by, status.proven) == (LossCause.NODE_LOST, True)


async def test_a_node_that_was_made_anew_in_a_gap_of_the_watch_takes_no_task_with_it(tmp_path: Path) -> None:
    """The list names the new node, and then that the old one of the same name went."""
    async with running(tmp_path) as (on, hands, job, _):
        name = next(iter(on.pods().values()))["spec"]["nodeName"]
        before = hands.sight.nodes[name]
        await on.there.server.down()
        on.there.store.delete(kinds.NODE, name)
        on.there.node(name)
        on.there.store.compact()
        await on.there.server.up()
        await until(lambda: name in hands.sight.nodes and hands.sight.nodes[name].uid != before.uid)
        await hands.sight.opened()
        assert hands.sight.gone == set()
        assert all(one.phase is TaskPhase.RUNNING for one in await hands.workloads.tasks(job.job.uid))


async def test_what_was_told_to_pods_that_went_is_forgotten_seen_or_unseen(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.submit(JobKind.JOBSET)
        async with on.hands() as hands:
            job = await placed(hands)
        old = set(on.told.known)
        for name in on.pods():
            on.there.store.delete(kinds.POD, name, "default", DELETED)
        assert len(old) == 2
        async with on.hands() as hands:
            following = asyncio.create_task(follow(hands))
            await until(lambda: not old & set(on.told.known))
            await hands.workloads.create(launches(job.job, incarnation=2), avoid=NOWHERE)
            new = set(on.told.known)
            on.there.store.delete(kinds.POD, next(iter(on.pods())), "default", DELETED)
            await until(lambda: len(new & set(on.told.known)) == 1)
            following.cancel()


async def test_a_task_whose_pod_went_before_it_joined_is_not_bound_to_the_next_pod(tmp_path: Path) -> None:
    async with running(tmp_path) as (on, hands, job, watcher):
        first, second = launches(job.job)
        name = next(name for name, task in on.tasks().items() if task == second.task.uid)
        on.there.store.delete(kinds.POD, name, "default")
        await watcher.until_gone([second.task.uid])
        await until(lambda: len(on.pods()) == 2)
        await hands.workloads.create([first, second], avoid=NOWHERE)
        assert list(on.tasks().values()) == [first.task.uid]


async def test_creating_again_tells_the_agents_nothing_new(tmp_path: Path) -> None:
    async with running(tmp_path) as (on, hands, job, _):
        words, writes = on.told.words, len(on.there.writes)
        await hands.workloads.create(launches(job.job), avoid=NOWHERE)
        assert (on.told.words, len(on.there.writes)) == (words, writes)


async def test_an_agent_that_was_not_told_because_its_teller_died_is_told_by_the_successor(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.submit(JobKind.JOB)
        async with on.hands() as hands:
            job = await placed(hands)
        on.told.known.clear()
        async with on.hands() as hands:
            await hands.workloads.create(launches(job.job), avoid=NOWHERE)
        assert set(on.told.known) == on.uids()


async def test_why_no_node_takes_a_pod_is_said_in_the_schedulers_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_workloads, "STUCK", timedelta(seconds=0.5))
    async with stage(tmp_path) as on, on.hands() as hands:
        for number in range(3):
            on.there.store.patch(kinds.NODE, f"n{number}", {"spec": {"unschedulable": True}})
        on.submit(JobKind.JOB)
        with pytest.raises(NoRoom, match=r"no node takes pod j-1-\w+: 0/4 nodes are available"):
            await placed(hands)
        assert on.tasks() == {}
        on.there.store.patch(kinds.NODE, "n0", {"spec": {"unschedulable": None}})
        await placed(hands)
        assert len(on.tasks()) == 2


async def test_why_a_pod_is_not_made_is_said_in_its_controllers_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_workloads, "COMES", timedelta(seconds=0.5))
    async with running(tmp_path, JobKind.JOB) as (on, hands, job, _):
        await on.there.server.down()
        for name in on.pods():
            on.there.store.delete(kinds.POD, name, "default", DELETED)
        on.there.store.patch(kinds.JOB, "j", {"spec": {"suspend": True}}, "default")
        about = on.there.store.get(kinds.JOB, "j", "default")
        quota = 'pods "j-0" is forbidden: exceeded quota: gpus, requested: 8, used: 16, limited: 16'
        on.plane.cluster.tell({**about, "apiVersion": "batch/v1", "kind": "Job"}, "FailedCreate", quota, source="job")
        await on.there.server.up()
        with pytest.raises(NoRoom, match=r"there is no pod for seat 0 yet: .*exceeded quota: gpus"):
            await hands.workloads.create(launches(job.job, incarnation=2), avoid=NOWHERE)
