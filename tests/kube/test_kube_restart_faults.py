"""A restart goes on whatever happens to whoever carries it out, and every pod is made anew exactly once."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters import kube_observe
from keepstep.adapters.kube_client import Write
from keepstep.adapters.kube_job import IndexedView
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import RESTART
from keepstep.adapters.kube_volcano_view import VolcanoView
from keepstep.contracts.taxonomy import Level
from keepstep.ports.controllers import RestartOrder
from keepstep.ports.errors import Conflict, Transient
from tests.kube.server import kinds
from tests.kube.server.access import Ask
from tests.kube.server.errors import ApiError
from tests.kube.stage import NOWHERE, Stage, launches, order, placed, pursue, stage


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


def noted(on: Stage) -> str:
    """Return the record that stands on the set."""
    record: str = on.there.store.get(kinds.JOB_SET, "j", "default")["metadata"]["annotations"][RESTART]
    return record


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
