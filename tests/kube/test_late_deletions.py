"""A pod whose object outlives its successor's start: its end is told of its own task, and of no other."""

from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.contracts.ids import TaskUid
from keepstep.ports.cluster import TaskPhase
from tests.adapters.cluster_tools import Watcher
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.stage import NOWHERE, Stage, launches
from tests.kube.watched import running

HELD = "example.com/backup"


def finalizers(on: Stage, name: str, *, held: bool) -> None:
    """Hold the pod's object as somebody's finalizer does, or let it go."""

    def change(found: dict[str, Any]) -> None:
        others = [one for one in found["metadata"].get("finalizers", ()) if one != HELD]
        found["metadata"]["finalizers"] = [*others, HELD] if held else others

    on.there.store.edit(kinds.POD, name, "default", change, manager="backup")


def phases(watcher: Watcher, task: TaskUid) -> list[TaskPhase]:
    """Return what was said of a task, but for the time before it ran."""
    return [phase for phase in watcher.phases(task) if phase is not TaskPhase.PENDING]


@pytest.mark.parametrize("kind", [JobKind.JOBSET, JobKind.JOB])
async def test_a_deletion_that_is_told_when_the_successor_runs_is_of_the_old_task_alone(
    tmp_path: Path, kind: JobKind
) -> None:
    async with running(tmp_path, kind) as (on, hands, job, watcher):
        (_, old), (stays, new) = launches(job.job), launches(job.job, incarnation=2)
        name = next(name for name, task in on.tasks().items() if task == old.task.uid)
        finalizers(on, name, held=True)
        on.there.store.delete(kinds.POD, name, "default")
        await watcher.until(lambda heard: any(one.phase is TaskPhase.GONE for one in heard))
        await until(lambda: len(on.pods()) == 2)
        await hands.workloads.create([new], avoid=NOWHERE)
        await watcher.until(lambda heard: any(one.ref == new.task for one in heard))
        assert on.there.store.find(kinds.POD, name, "default") is not None
        finalizers(on, name, held=False)
        await until(lambda: on.there.store.find(kinds.POD, name, "default") is None)
        await watcher.until_gone([old.task.uid])
        assert phases(watcher, old.task.uid) == [TaskPhase.RUNNING, TaskPhase.GONE]
        assert phases(watcher, new.task.uid) == [TaskPhase.RUNNING]
        assert stays.task.uid not in {one.ref.uid for one in watcher.heard}
        running_now = {
            one.ref.uid for one in await hands.workloads.tasks(job.job.uid) if one.phase is TaskPhase.RUNNING
        }
        assert running_now == {launches(job.job)[0].task.uid, new.task.uid}
