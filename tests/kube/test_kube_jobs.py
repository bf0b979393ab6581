"""Jobs as the scheduler-adapter sees them on a cluster: found, refused, finished, and kept down when they are over."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import JOB_LABEL, SPEC
from keepstep.adapters.kube_pod import PodPhase
from keepstep.adapters.kube_view import JobPhase
from keepstep.contracts.events import Finish
from keepstep.contracts.taxonomy import Level
from keepstep.core.words.reading import reading
from keepstep.ports.controllers import Finished, Found, Unfit
from keepstep.ports.errors import Transient
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.shown import STORED
from tests.kube.stage import JOB_SPEC, NOWHERE, found, launches, placed, stage
from tests.kube.watched import running, said

NUMBERED = {f"name-{number}": number for number in range(100)}


@pytest.mark.parametrize(
    ("patch", "because"),
    [
        ({"annotations": {SPEC: "{"}}, "annotation keepstep.io/spec: the JSON: Invalid JSON"),
        (
            {"annotations": {SPEC: '{"name": "j", "nodes": 0, "nproc": "two"}'}},
            "annotation keepstep.io/spec: entrypoint: Field required;"
            " nodes: Input should be greater than or equal to 1;"
            " nproc: Input should be a valid integer, unable to parse string as an integer; inject the job again",
        ),
        (
            {"annotations": {SPEC: JOB_SPEC.model_dump_json()[:-1] + f', "labels": {json.dumps(NUMBERED)}}}'}},
            "labels.name-19: Input should be a valid string; 80 more; inject the job again",
        ),
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
        assert isinstance(unfit, Unfit)
        assert because in unfit.because
        assert reading(unfit.because).unread == 0


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


async def test_a_job_is_found_with_the_labels_that_people_gave_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB, suspend=True)
        finding = asyncio.ensure_future(said(hands.controllers, Found))
        labels = {"metadata": {"labels": {"team": "nlp", "keepstep.io/other": "ours"}}}
        on.there.store.patch(kinds.JOB, "j", labels | {"spec": {"suspend": False}}, "default")
        found = await finding
        assert isinstance(found, Found)
        assert found.labels["team"] == "nlp"
        assert not [name for name in found.labels if "keepstep.io" in name]


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
