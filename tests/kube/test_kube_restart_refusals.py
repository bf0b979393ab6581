"""Restarts that cannot be had, or not yet: what is refused with a remedy before anything is written."""

from pathlib import Path

import pytest

from keepstep.adapters import kube_restart
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import RESTART
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobRef
from keepstep.ports.errors import LevelRefused, NoRoom
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.stage import Hands, Stage, launches, order, placed, pursue, stage


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
