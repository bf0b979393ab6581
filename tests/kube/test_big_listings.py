"""What keeps 50,000 pods cheap: waiting jobs sleep through changes of others, and listings reuse what they know."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters import kube_listing
from keepstep.adapters.kube_acts import Acts
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_resources import Resource
from keepstep.contracts.ids import TaskUid
from keepstep.ports.cluster import TaskPhase
from tests.kube.cluster import until
from tests.kube.server import kinds
from tests.kube.stage import Stage, placed, stage

NOTE = {"metadata": {"annotations": {"example.org/beat": "1"}}}


def touch(on: Stage, pod: str) -> None:
    """Change a pod as anybody might."""
    on.there.store.patch(kinds.POD, pod, NOTE, "default")


async def test_who_waits_for_a_job_s_pods_is_woken_by_these_alone(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOBSET)
        job = await placed(hands)
        on.there.pod("other")
        other = {"metadata": {"labels": {"keepstep.io/job": "k"}}}
        on.there.store.patch(kinds.POD, "other", other, "default")
        await until(lambda: len(hands.sight.every_pod()) == 3)
        everybody, own = hands.sight.listen(), hands.sight.listen(job.job.uid)
        touch(on, "other")
        first = await asyncio.wait_for(everybody.get(), 20)
        assert isinstance(first.now, Pod)
        assert first.now.name == "other"
        assert own.empty()
        mine = next(iter(on.tasks()))
        touch(on, mine)
        woken = (await asyncio.wait_for(own.get(), 20)).now
        assert isinstance(woken, Pod)
        assert woken.name == mine


async def test_a_listing_makes_only_the_tasks_of_changed_pods_anew(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB)
        await placed(hands)
        touched, task = next(iter(on.tasks().items()))
        before = {status.ref.uid: status for status in await hands.workloads.tasks()}
        changes = hands.sight.listen()
        on.there.store.delete(kinds.POD, touched, "default")
        await asyncio.wait_for(changes.get(), 20)
        after = {status.ref.uid: status for status in await hands.workloads.tasks()}
        (kept,) = before.keys() - {task}
        assert after[kept] is before[kept]
        assert (before[TaskUid(task)].phase, after[TaskUid(task)].phase) == (TaskPhase.RUNNING, TaskPhase.GONE)


async def test_what_the_server_is_asked_for_comes_page_by_page_and_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods of a job and events of whoever makes them were asked for in one list, however many there were."""
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB)
        job = (await placed(hands)).job
        top = hands.sight.job(job.uid)
        assert top is not None
        monkeypatch.setattr(kube_listing, "PAGE", 1)
        asked: list[dict[str, str]] = []
        page = hands.sight.client.page

        async def counted(resource: Resource, params: dict[str, str], **more: Any) -> Any:
            asked.append(dict(params))
            return await page(resource, params, **more)

        monkeypatch.setattr(hands.sight.client, "page", counted)
        assert len(await Acts(hands.sight).pods(top)) == 2
        assert [(each["limit"], "continue" in each) for each in asked] == [("1", False), ("1", True)]


def test_lists_are_asked_for_by_those_who_page_them_alone() -> None:
    adapters = Path(kube_listing.__file__).parent
    asking = {path.name for path in adapters.glob("*.py") if re.search(r"\.page\(", path.read_text(encoding="utf-8"))}
    assert asking == {"kube_listing.py", "kube_cache.py"}
