"""A restart goes on whatever happens to whoever carries it out, and every pod is made anew exactly once."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters import kube_observe, kube_restart
from keepstep.adapters.kube_client import Write
from keepstep.adapters.kube_job import IndexedView
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import RESTART
from keepstep.adapters.kube_volcano_view import VolcanoView
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobRef
from keepstep.ports.controllers import RestartOrder
from keepstep.ports.errors import Conflict, LevelRefused, NoRoom, Transient
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.server.access import Ask
from tests.kube.server.deletion import DeleteOptions
from tests.kube.server.errors import ApiError
from tests.kube.stage import NOWHERE, Hands, Stage, launches, order, placed, pursue, stage


class Struck(BaseException):
    """The process died here."""


class Blow:
    """Ends the hands right after their nth write."""

    def __init__(self, after: int) -> None:
        self.left, self.writes = after, list[Write]()

    def __call__(self, write: Write) -> None:
        self.writes.append(write)
        self.left -= 1
        if self.left == 0:
            raise Struck


async def cut(on: Stage, wanted: RestartOrder, after: int) -> bool:
    """Pursue a restart until the process dies after so many writes; tell whether it did."""
    async with on.hands(Blow(after)) as hands:
        try:
            await pursue(hands, wanted)
        except Struck:
            return True
    return False


async def restarted_after_cut(folder: Path, kind: JobKind, level: Level, after: int) -> bool:
    """Cut a restart after so many writes, let a successor go on, and check that nothing was done twice."""
    async with stage(folder) as on:
        on.submit(kind, restart="ExitCode")
        async with on.hands() as hands:
            job = (await placed(hands)).job
        tasks = launches(job)
        lost = tasks if level is Level.JOB else tasks[1:]
        wanted = order(job, level, *lost)
        struck = await cut(on, wanted, after)
        async with on.hands() as hands:
            await pursue(hands, wanted)
            await hands.workloads.create(launches(job, incarnation=2, indexes=(1,)), avoid=NOWHERE)
            assert len(on.made()) == 2 + len(lost), f"{kind} {level}, cut after write {after}"
            view = on.view(hands, job)
            assert view.counter == cost(view, level)
            assert not view.suspended
    return struck


def cost(view: Any, level: Level) -> int:
    """Return what the job's own budget is less by."""
    return int(isinstance(view, VolcanoView if level is Level.JOB else IndexedView))


@pytest.mark.slow
@pytest.mark.parametrize("level", [Level.POD, Level.JOB])
@pytest.mark.parametrize("kind", JobKind)
async def test_a_successor_goes_on_wherever_its_predecessor_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: JobKind, level: Level
) -> None:
    monkeypatch.setattr(kube_observe, "CONFIRM", timedelta(seconds=1.5))
    writes = 1
    while await restarted_after_cut(tmp_path, kind, level, writes):
        writes += 1
    assert writes > 2


class Refusing:
    """Answers some of the writes with errors of the test's choice."""

    def __init__(self, error: ApiError, *, every: int) -> None:
        self.error, self.every, self.count = error, every, 0

    def __call__(self, ask: Ask) -> ApiError | None:
        if ask.verb in ("get", "list", "watch"):
            return None
        self.count += 1
        return self.error if self.count % self.every else None


@pytest.mark.parametrize("kind", [JobKind.VOLCANO, JobKind.JOBSET])
async def test_a_restart_outlives_a_server_that_is_busy(tmp_path: Path, kind: JobKind) -> None:
    busy = ApiError(429, "TooManyRequests", "too many requests, please try again later", {"retryAfterSeconds": 1})
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind)
        job = (await placed(hands)).job
        on.there.server.app.refuse = Refusing(busy, every=3)
        await pursue(hands, order(job, Level.JOB, *launches(job)))
        assert len(on.made()) == 4


@pytest.mark.parametrize("kind", [JobKind.VOLCANO, JobKind.TRAINJOB])
async def test_a_restart_goes_on_when_the_server_is_back(tmp_path: Path, kind: JobKind) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind)
        job = (await placed(hands)).job
        wanted = order(job, Level.JOB, *launches(job))
        first = asyncio.create_task(pursue(hands, wanted))
        await asyncio.sleep(0.05)
        await on.there.server.down()
        await asyncio.sleep(1.5)
        with pytest.raises(Transient):
            await hands.workloads.tasks()
        on.there.store.compact()
        await on.there.server.up()
        await first
        assert len(on.made()) == 4


async def test_somebody_who_writes_the_job_at_the_same_time_is_not_undone(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOBSET)
        job = (await placed(hands)).job
        count = 0

        def meddle(ask: Ask) -> ApiError | None:
            nonlocal count
            if ask.verb == "patch" and ask.resource == "jobsets" and count < 3:
                count += 1
                on.there.store.patch(kinds.JOB_SET, "j", {"metadata": {"labels": {"x": str(count)}}}, "default")
            return None

        on.there.server.app.refuse = meddle
        await pursue(hands, order(job, Level.JOB, *launches(job)))
        assert on.there.store.get(kinds.JOB_SET, "j", "default")["metadata"]["labels"]["x"] == "3"
        assert len(on.made()) == 4


async def silent_node(on: Stage, hands: Hands, job: JobRef) -> NodeName:
    """Lose the node of task 1 and wait until the cluster says so."""
    name = next(name for name, task in on.tasks().items() if task == launches(job)[1].task.uid)
    node = NodeName(on.pods()[name]["spec"]["nodeName"])
    on.kubelet.lose(node)
    await until(lambda: not hands.sight.nodes[node].ready)
    await closed(on, hands, node)
    return node


async def closed(on: Stage, hands: Hands, node: NodeName) -> None:
    """Cordon a node and wait until the hands see it."""
    on.there.store.patch(kinds.NODE, node, {"spec": {"unschedulable": True}})
    await until(lambda: hands.sight.nodes[node].unschedulable)


@pytest.mark.parametrize("level", [Level.POD, Level.JOB])
@pytest.mark.parametrize("kind", JobKind)
async def test_a_pod_on_a_silent_node_is_taken_by_force_only_once_its_ranks_are_dead(
    tmp_path: Path, kind: JobKind, level: Level
) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind, restart="ExitCode")
        job = (await placed(hands)).job
        node = await silent_node(on, hands, job)
        tasks = launches(job)
        lost = tasks if level is Level.JOB else tasks[1:]
        wanted = order(job, level, *lost, avoid=frozenset({node}))
        writes = len(on.there.writes)
        report = await hands.controllers.restart(wanted)
        assert f"{node}, which does not answer and is not proved dead" in report.because
        assert len(on.there.writes) == writes
        safe = frozenset(launch.task.uid for launch in lost)
        proved = order(job, level, *lost, avoid=frozenset({node}), safe=safe)
        await pursue(hands, proved)
        again = kind is JobKind.VOLCANO and level is Level.JOB
        assert len(on.made()) - 2 - len(lost) in {0, int(again)}, "Volcano makes the forced one anew before its restart"
        assert node not in {pod["spec"].get("nodeName") for pod in on.pods().values()}


async def test_a_node_that_would_take_the_new_pods_is_named_with_its_remedy(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB)
        job = (await placed(hands)).job
        node = NodeName(next(iter(on.pods().values()))["spec"]["nodeName"])
        wanted = order(job, Level.JOB, *launches(job), avoid=frozenset({node}))
        with pytest.raises(NoRoom, match="neither cordoned nor tainted; isolate it first"):
            await hands.controllers.restart(wanted)
        await closed(on, hands, node)
        await pursue(hands, wanted)
        assert node not in {pod["spec"].get("nodeName") for pod in on.pods().values()}


async def test_a_level_that_the_jobs_own_rules_forbid_is_refused_with_a_remedy(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.PYTORCHJOB, restart="Never")
        job = (await placed(hands)).job
        with pytest.raises(LevelRefused, match=r"restartPolicy Never.*take level in-place or job"):
            await hands.controllers.restart(order(job, Level.POD, launches(job)[1]))
        assert len(on.made()) == 2


async def test_a_restart_whose_record_would_not_fit_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server refused the annotation, and the restart was tried again for ever."""
    monkeypatch.setattr(kube_restart, "LARGEST", 300)
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB)
        job = (await placed(hands)).job
        with pytest.raises(LevelRefused, match=r"over 2 pods make a record of \d+ bytes, and 300 fit on"):
            await hands.controllers.restart(order(job, Level.JOB, *launches(job)))
        assert RESTART not in on.there.store.get(kinds.JOB, "j", "default")["metadata"]["annotations"]


async def test_a_restart_of_a_job_that_is_gone_is_refused(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB)
        job = (await placed(hands)).job
        on.there.store.delete(kinds.JOB, "j", "default")
        await until(lambda: hands.sight.job(job.uid) is None)
        with pytest.raises(LevelRefused, match="create it anew"):
            await hands.controllers.restart(order(job, Level.JOB, *launches(job)))


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


async def test_the_next_incident_goes_on_with_a_job_that_was_left_suspended(tmp_path: Path) -> None:
    """A second fault while all pods are away: the job is one restart from running, and not refused as suspended."""
    async with stage(tmp_path) as on:
        on.submit(JobKind.JOBSET)
        async with on.hands() as hands:
            job = (await placed(hands)).job
        tasks = launches(job)
        assert await cut(on, order(job, Level.JOB, *tasks), 2)
        async with on.hands() as hands:
            assert (await pursue(hands, order(job, Level.JOB, *tasks, name="r2"))).done
            assert not on.view(hands, job).suspended
        assert len(on.made()) == 4


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
        assert len(on.made()) == 4
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


class Overtaking:
    """Lets another instance put its record on the job between the reader's look and the reader's first write."""

    def __init__(self, on: Stage, record: str) -> None:
        self.on, self.record = on, record

    def __call__(self, ask: Ask) -> ApiError | None:
        if ask.verb == "get" and ask.resource == "jobsets" and self.record:
            note, self.record = {"metadata": {"annotations": {RESTART: self.record}}}, ""
            self.on.there.store.patch(kinds.JOB_SET, "j", note, "default")
        return None


async def test_an_instance_that_wakes_late_does_not_begin_the_restart_that_its_successor_is_at(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.submit(JobKind.JOBSET)
        async with on.hands() as hands:
            job = (await placed(hands)).job
            wanted = order(job, Level.JOB, *launches(job))
            await pursue(hands, wanted)
        ahead = noted(on)
        on.there.store.patch(kinds.JOB_SET, "j", {"metadata": {"annotations": {RESTART: None}}}, "default")
        async with on.hands() as hands:
            await hands.workloads.create(launches(job, incarnation=2), avoid=NOWHERE)
            again = order(job, Level.JOB, *launches(job, incarnation=2))
            on.there.server.app.refuse = Overtaking(on, ahead)
            with pytest.raises(Conflict, match="somebody else goes on"):
                await hands.controllers.restart(again)
        assert noted(on) == ahead
        assert len(on.made()) == 4


async def test_a_record_that_nobody_can_read_is_refused_and_left(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.submit(JobKind.JOB)
        async with on.hands() as hands:
            job = (await placed(hands)).job
        on.there.store.patch(kinds.JOB, "j", {"metadata": {"annotations": {RESTART: "{"}}}, "default")
        async with on.hands() as hands:
            with pytest.raises(LevelRefused, match=r"is no record of a restart.*take it off once"):
                await hands.controllers.restart(order(job, Level.JOB, *launches(job)))
        assert on.there.store.get(kinds.JOB, "j", "default")["metadata"]["annotations"][RESTART] == "{"


def noted(on: Stage) -> str:
    """Return the record that stands on the set."""
    record: str = on.there.store.get(kinds.JOB_SET, "j", "default")["metadata"]["annotations"][RESTART]
    return record


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
