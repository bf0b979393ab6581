"""Tasks and jobs as the scheduler-adapter sees them on a cluster: found, lost, waited for, ended, in plain words."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.adapters import kube_workloads
from keepstep.adapters.kube_controllers import KubeControllers
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import JOB_LABEL, SPEC
from keepstep.adapters.kube_pod import PodPhase
from keepstep.adapters.kube_view import JobPhase
from keepstep.contracts.events import Finish
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.ports.controllers import Finished, Found, Sighting, Unfit
from keepstep.ports.errors import NoRoom, Transient
from tests.adapters.cluster_tools import Watcher, watching
from tests.kube.cluster import LIMIT_S, until
from tests.kube.server import kinds
from tests.kube.server.deletion import DeleteOptions
from tests.kube.shown import STORED
from tests.kube.stage import JOB_SPEC, NOWHERE, Hands, Stage, found, launches, placed, stage

DELETED = DeleteOptions(grace=0)


@asynccontextmanager
async def running(folder: Path, kind: JobKind = JobKind.JOBSET) -> AsyncIterator[tuple[Stage, Hands, Found, Watcher]]:
    """Run a job whose tasks are bound, and watch them."""
    async with stage(folder) as on, on.hands() as hands:
        on.submit(kind)
        job = await placed(hands)
        async with watching(hands.workloads) as watcher:
            uids = {launch.task.uid for launch in launches(job.job)}
            await watcher.until(lambda heard: uids <= {one.ref.uid for one in heard})
            yield on, hands, job, watcher


async def said(controllers: KubeControllers, kind: type[Sighting], begun: asyncio.Event | None = None) -> Sighting:
    """Return the first sighting of a kind; ``begun`` is set by whatever comes before it."""
    async with asyncio.timeout(LIMIT_S):
        async for sighting in controllers.sightings():
            if isinstance(sighting, kind):
                return sighting
            if begun is not None:
                begun.set()
    raise AssertionError("the sightings ended")


async def follow(hands: Hands) -> None:
    """Watch for ever, as the scheduler-adapter does."""
    async for _ in hands.workloads.watch():
        pass


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


@pytest.mark.parametrize(
    ("patch", "because"),
    [
        ({"annotations": {SPEC: "{"}}, "annotation keepstep.io/spec: the JSON: Invalid JSON"),
        ({"annotations": {SPEC: JOB_SPEC.model_copy(update={"nodes": 3}).model_dump_json()}}, "says nodes 3, 2 of its"),
        ({"labels": {JOB_LABEL: "k"}}, "label keepstep.io/job is 'k': set it to j"),
    ],
)
async def test_a_job_that_cannot_be_obeyed_is_told_with_field_and_remedy(
    tmp_path: Path, patch: dict[str, object], because: str
) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB)
        on.there.store.patch(kinds.JOB, "j", {"metadata": patch}, "default")
        unfit = await said(hands.controllers, Unfit)
        assert because in str(unfit)


async def test_a_suspended_job_is_found_when_it_is_resumed(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB, suspend=True)
        finding = asyncio.ensure_future(said(hands.controllers, Found))
        await until(lambda: len(hands.sight.tops()) == 1)
        await asyncio.sleep(0.2)
        assert not finding.done()
        on.there.store.patch(kinds.JOB, "j", {"spec": {"suspend": False}}, "default")
        found = await finding
        assert isinstance(found, Found)
        assert found.spec == JOB_SPEC


async def test_a_job_that_an_experiment_made_is_found_like_any_other(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        finding = asyncio.ensure_future(said(hands.controllers, Found))
        await hands.sight.opened()
        experiment = on.there.store.create(kinds.CONFIG_MAP, {"metadata": {"name": "experiment"}}, "default")
        meta = experiment["metadata"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], "controller": True}
        on.submit(JobKind.JOB, owners=[owner])
        found = await finding
        assert found.job.name == "j"
        await hands.workloads.create(launches(found.job), avoid=NOWHERE)
        assert len(on.tasks()) == 2


@pytest.mark.parametrize("kind", JobKind)
async def test_a_job_whose_object_is_deleted_is_finished_as_deleted(tmp_path: Path, kind: JobKind) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind)
        job = await placed(hands)
        begun = asyncio.Event()
        ending = asyncio.ensure_future(said(hands.controllers, Finished, begun))
        await begun.wait()
        on.there.store.delete(STORED[kind], "j", "default")
        finished = await ending
        assert isinstance(finished, Finished)
        assert (finished.how, finished.job) == (Finish.DELETED, job.job)
        await until(lambda: not hands.sight.tops())
        assert (await hands.controllers.jobs()).lacks(job.job.uid, job.kind)


@pytest.mark.parametrize("kind", [JobKind.PYTORCHJOB, JobKind.VOLCANO])
async def test_a_job_that_its_controller_fails_is_finished_in_its_words(tmp_path: Path, kind: JobKind) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind)
        await placed(hands)
        ending = asyncio.ensure_future(said(hands.controllers, Finished))
        for name in on.pods():
            note = {"metadata": {"annotations": {"fake.kubelet/exit-code": "1"}}}
            on.there.store.patch(kinds.POD, name, note, "default")
        finished = await ending
        assert isinstance(finished, Finished)
        assert finished.how is Finish.FAILED
        assert "failed" in finished.because.lower()


@pytest.mark.parametrize(
    ("kind", "restart", "stays"),
    [
        (JobKind.JOB, "Never", JobPhase.SUSPENDED),
        (JobKind.JOBSET, "Never", JobPhase.SUSPENDED),
        (JobKind.TRAINJOB, "Never", JobPhase.SUSPENDED),
        (JobKind.PYTORCHJOB, "ExitCode", JobPhase.SUSPENDED),
        (JobKind.PYTORCHJOB, "Never", JobPhase.RUNNING),
        (JobKind.VOLCANO, "Never", JobPhase.RUNNING),
    ],
)
async def test_a_failed_job_is_kept_down_where_its_controller_would_start_it_again(
    tmp_path: Path, kind: JobKind, restart: str, stays: JobPhase
) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind, restart=restart)
        job = (await placed(hands)).job
        uids = frozenset(launch.task.uid for launch in launches(job))
        told = await hands.controllers.end(job.uid, uids, succeeded=False)
        assert told.items() <= (dict.fromkeys(uids, True) if stays is JobPhase.SUSPENDED else {}).items()
        await until(lambda: on.view(hands, job).phase is stays)
        if stays is JobPhase.SUSPENDED:
            await until(lambda: not hands.sight.pods(job.uid))
            assert await hands.controllers.end(job.uid, uids, succeeded=False) == dict.fromkeys(uids, True)


@pytest.mark.parametrize(
    ("kind", "stays"), [(JobKind.VOLCANO, JobPhase.ABORTED), (JobKind.PYTORCHJOB, JobPhase.SUSPENDED)]
)
async def test_a_failed_job_whose_pods_never_got_a_task_is_kept_down(
    tmp_path: Path, kind: JobKind, stays: JobPhase
) -> None:
    """Launchers that wait for a task have nothing that would end them: they would hold their devices for ever."""
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind)
        job = (await found(hands)).job
        await until(lambda: {pod.phase for pod in hands.sight.pods(job.uid)} == {PodPhase.RUNNING})
        uids = frozenset(launch.task.uid for launch in launches(job))
        assert await hands.controllers.end(job.uid, uids, succeeded=False) == dict.fromkeys(uids, False)
        await until(lambda: on.view(hands, job).phase is stays)
        await until(lambda: not hands.sight.pods(job.uid))


async def test_a_volcano_job_with_a_policy_that_restarts_it_is_aborted(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.VOLCANO, policies=[{"event": "PodFailed", "action": "RestartJob"}])
        job = (await placed(hands)).job
        for _ in range(3):
            with suppress(Transient):  # a job without tasks is waited for until it is down
                await hands.controllers.end(job.uid, frozenset(), succeeded=False)
        await until(lambda: on.view(hands, job).phase is JobPhase.ABORTED)
        assert sum("commands" in write.path for write in on.there.writes) == 1


async def test_a_job_that_succeeded_is_left_to_its_controller(tmp_path: Path) -> None:
    async with running(tmp_path) as (on, hands, job, _):
        writes = len(on.there.writes)
        await hands.controllers.end(job.job.uid, frozenset(), succeeded=True)
        assert len(on.there.writes) == writes
        assert Level.JOB in job.levels
