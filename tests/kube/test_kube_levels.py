"""Restarts through the ports on every kind: uids change exactly where they should, at the cost that was foretold."""

from pathlib import Path

import pytest

from keepstep.adapters.kube_job import IndexedView
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_volcano_view import VolcanoView
from keepstep.contracts.taxonomy import Level
from tests.kube.stage import NOWHERE, launches, order, placed, pursue, stage


@pytest.mark.parametrize("kind", JobKind)
async def test_a_job_level_makes_every_pod_anew_and_its_tasks_find_them(tmp_path: Path, kind: JobKind) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind)
        job = await placed(hands)
        assert Level.JOB in job.levels
        old = launches(job.job)
        before = on.uids()
        assert sorted(on.tasks().values()) == sorted(launch.task.uid for launch in old)
        report = await pursue(hands, order(job.job, Level.JOB, *old))
        assert report.gone == {launch.task.uid: True for launch in old}
        new = launches(job.job, incarnation=2)
        await hands.workloads.create(new, avoid=NOWHERE)
        assert not before & on.uids()
        assert sorted(on.tasks().values()) == sorted(launch.task.uid for launch in new)
        assert {on.told.known[uid].task.uid for uid in on.uids()} == {launch.task.uid for launch in new}
        top = hands.sight.job(job.job.uid)
        assert top is not None
        view = hands.sight.view(top)
        assert view.counter == (1 if isinstance(view, VolcanoView) else 0)


@pytest.mark.parametrize("kind", JobKind)
async def test_a_pod_level_replaces_one_pod_and_the_other_keeps_its_uid(tmp_path: Path, kind: JobKind) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind, restart="ExitCode")
        job = await placed(hands)
        kept, lost = launches(job.job)
        uid_of = {task: on.pods()[name]["metadata"]["uid"] for name, task in on.tasks().items()}
        report = await pursue(hands, order(job.job, Level.POD, lost))
        assert report.gone == {lost.task.uid: True}
        (new,) = launches(job.job, incarnation=2, indexes=(1,))
        await hands.workloads.create([kept, new], avoid=NOWHERE)
        after = {task: on.pods()[name]["metadata"]["uid"] for name, task in on.tasks().items()}
        assert after[kept.task.uid] == uid_of[kept.task.uid]
        assert after[new.task.uid] not in uid_of.values()
        top = hands.sight.job(job.job.uid)
        assert top is not None
        view = hands.sight.view(top)
        assert view.counter == (1 if isinstance(view, IndexedView) else 0)
