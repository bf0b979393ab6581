"""Restarts among others who act on the same job: its controller, people, another incident, a job of the same name."""

from pathlib import Path

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.contracts.taxonomy import Level
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.server.access import Ask
from tests.kube.server.deletion import DeleteOptions
from tests.kube.server.errors import ApiError
from tests.kube.stage import NOWHERE, Stage, launches, order, placed, pursue, stage


@pytest.mark.parametrize("kind", [JobKind.VOLCANO, JobKind.JOB])
async def test_a_pod_that_somebody_else_deleted_is_not_deleted_again(tmp_path: Path, kind: JobKind) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind)
        job = (await placed(hands)).job
        lost = launches(job)[1]
        name = next(name for name, task in on.tasks().items() if task == lost.task.uid)
        on.there.store.delete(kinds.POD, name, "default")
        writes = len(on.there.writes)
        wanted = order(job, Level.POD, lost)
        report = await pursue(hands, wanted, met=lambda report: bool(report.gone))
        assert report.gone == {lost.task.uid: True}
        await hands.workloads.create(launches(job, incarnation=2, indexes=(1,)), avoid=NOWHERE)
        verbs = [write.verb for write in on.there.writes[writes:]]
        assert "DELETE" not in verbs
        assert len(on.made()) == 3


async def test_a_job_that_restarts_by_its_own_policy_is_not_restarted_twice(tmp_path: Path) -> None:
    """Somebody deletes a pod and PodEvicted means RestartJob: the new plan waits for the controller's own gang."""
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.VOLCANO, policies=[{"event": "PodEvicted", "action": "RestartJob"}])
        job = (await placed(hands)).job
        tasks = launches(job)
        name = next(name for name, task in on.tasks().items() if task == tasks[1].task.uid)
        note = {"metadata": {"annotations": {"fake.kubelet/term-after": "1s"}}}
        on.there.store.patch(kinds.POD, name, note, "default")
        on.there.store.delete(kinds.POD, name, "default")
        await until(lambda: any(pod.deleted is not None for pod in hands.sight.pods(job.uid)))
        await pursue(hands, order(job, Level.JOB, *tasks))
        view = on.view(hands, job)
        assert view.counter == 1
        assert len(on.made()) <= 5  # the controller may replace the pod before its policy has seen that it is gone
        assert set(on.made()[-2:]) == on.uids()
        assert not any("commands" in write.path for write in on.there.writes)


async def test_a_pod_whose_name_went_to_its_successor_before_its_deletion_counts_as_gone(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.PYTORCHJOB, restart="ExitCode")
        job = (await placed(hands)).job
        lost = launches(job)[1]
        outrun = Outrun(on)
        on.there.server.app.refuse = outrun
        await pursue(hands, order(job, Level.POD, lost))
        assert outrun.done
        assert len(on.made()) == 3


@pytest.mark.parametrize("kind", [JobKind.JOB, JobKind.JOBSET, JobKind.TRAINJOB, JobKind.PYTORCHJOB])
async def test_a_pod_that_failed_and_stays_does_not_keep_its_job_suspended(tmp_path: Path, kind: JobKind) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind)
        job = (await placed(hands)).job
        tasks = launches(job)
        name = next(name for name, task in on.tasks().items() if task == tasks[1].task.uid)
        on.there.server.app.refuse = Ending(on, name)
        await pursue(hands, order(job, Level.JOB, *tasks))
        working = {pod["metadata"]["uid"] for pod in on.pods().values() if pod["status"].get("phase") != "Failed"}
        assert len(working) == 2
        assert not working & {task.task.uid for task in tasks}
        assert len(on.made()) <= 5  # the Job may replace the failed pod before the suspension has reached it
        assert not on.view(hands, job).suspended


class Ending:
    """Lets a pod fail in the instant in which its job is suspended."""

    def __init__(self, on: Stage, name: str) -> None:
        self.on, self.name, self.writes = on, name, 0

    def __call__(self, ask: Ask) -> ApiError | None:
        if ask.verb == "patch" and ask.resource != "pods":
            self.writes += 1
            if self.writes == 2:
                states = self.on.there.store.get(kinds.POD, self.name, "default")["status"]["containerStatuses"]
                at = states[0]["state"]["running"]["startedAt"]
                ended = [
                    {**one, "ready": False, "state": {"terminated": {"exitCode": 1, "finishedAt": at}}}
                    for one in states
                ]
                status = {"status": {"phase": "Failed", "containerStatuses": ended}}
                self.on.there.store.patch(kinds.POD, self.name, status, "default", subresource="status")
        return None


async def test_jobs_of_one_name_do_not_wait_for_the_pods_of_each_other(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.PYTORCHJOB)
        on.submit(JobKind.JOBSET)
        job = (await placed(hands)).job
        await until(lambda: len(on.pods()) == 4)
        others = on.uids() - {pod.uid for pod in hands.sight.pods(job.uid)}
        await pursue(hands, order(job, Level.JOB, *launches(job)))
        assert len(on.made()) == 6
        assert others <= on.uids()


class Outrun:
    """Makes a pod anew under its name just before its first deletion arrives."""

    def __init__(self, on: Stage) -> None:
        self.on, self.done = on, False

    def __call__(self, ask: Ask) -> ApiError | None:
        if ask.verb == "delete" and ask.resource == "pods" and not self.done:
            self.done, store = True, self.on.there.store
            old = store.get(kinds.POD, ask.name, "default")
            store.delete(kinds.POD, ask.name, "default", DeleteOptions(grace=0))
            keep = ("name", "namespace", "labels", "ownerReferences")
            store.create(kinds.POD, {"metadata": {k: old["metadata"][k] for k in keep}, "spec": old["spec"]}, "default")
        return None
