"""A person suspends a job in the middle of a recovery, or resumes one that keepstep holds down."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters import kube_controllers
from keepstep.adapters.kube_client import Audit, Write
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import SPEC
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobRef
from keepstep.ports.controllers import Found, RestartOrder, RestartReport, Sighting, Suspended, Unfit
from keepstep.ports.errors import Transient
from tests.kube.cluster import LIMIT_S, until
from tests.kube.controllers.jobset import JobSetController
from tests.kube.controllers.loop import Key, Steps
from tests.kube.server import kinds
from tests.kube.shown import STORED
from tests.kube.stage import JOB_SPEC, NOWHERE, Hands, Stage, launches, order, placed, pursue, stage
from tests.kube.test_kube_restart_faults import Struck
from tests.kube.watched import said

SUSPENDING = [JobKind.JOB, JobKind.JOBSET, JobKind.TRAINJOB, JobKind.PYTORCHJOB]


def write(on: Stage, kind: JobKind, suspend: bool) -> None:
    """Let a person suspend or resume the job."""
    body: dict[str, Any] = {"suspend": suspend}
    spec = {"runPolicy": body} if kind is JobKind.PYTORCHJOB else body
    on.there.store.patch(STORED[kind], "j", {"spec": spec}, "default")


async def watched(hands: Hands, seen: list[Sighting]) -> None:
    """Note every sighting."""
    async for sighting in hands.controllers.sightings():
        seen += (sighting,)


@pytest.mark.parametrize("kind", SUSPENDING)
async def test_a_job_that_a_person_suspends_is_seen_waited_for_and_goes_on_when_he_resumes_it(
    tmp_path: Path, kind: JobKind
) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind, restart="ExitCode")
        job = (await placed(hands)).job
        seen: list[Sighting] = []
        watching = asyncio.create_task(watched(hands, seen))
        await until(lambda: bool(seen))
        write(on, kind, True)
        await until(lambda: not hands.sight.pods(job.uid))
        assert isinstance(seen[-1], Suspended)
        assert "is suspended, and not by keepstep: resume it" in seen[-1].because
        for level in (Level.POD, Level.JOB):
            report = await hands.controllers.restart(order(job, level, *launches(job), name=level))
            assert (report.because, report.done) == (seen[-1].because, False)
            assert set(report.gone) == {each.task.uid for each in launches(job)}
        write(on, kind, False)
        await hands.workloads.create(launches(job, incarnation=2), avoid=NOWHERE)
        await until(lambda: isinstance(seen[-1], Found))
        assert len(on.made()) == 4
        watching.cancel()


async def test_a_person_who_suspends_while_the_new_pods_are_awaited_is_waited_for(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOBSET)
        job = (await placed(hands)).job
        wanted = order(job, Level.JOB, *launches(job))
        await pursue(hands, wanted)
        write(on, JobKind.JOBSET, True)
        await until(lambda: not hands.sight.pods(job.uid))
        report = await pursue(hands, wanted, met=lambda report: "not by keepstep" in report.because)
        assert not report.done
        write(on, JobKind.JOBSET, False)
        await pursue(hands, wanted)


@pytest.mark.parametrize("kind", SUSPENDING)
async def test_a_person_who_resumes_a_job_whose_old_pods_are_gone_has_done_the_restart(
    tmp_path: Path, kind: JobKind
) -> None:
    async with stage(tmp_path) as on:
        on.submit(kind, restart="ExitCode")
        async with on.hands() as hands:
            job = (await placed(hands)).job
        wanted = order(job, Level.JOB, *launches(job))
        await held_down(on, wanted)
        await until(lambda: not on.objects(kinds.POD))
        write(on, kind, False)
        await until(lambda: len(on.pods()) == 2)
        async with on.hands() as hands:
            assert (await pursue(hands, wanted)).done
            await hands.workloads.create(launches(job, incarnation=2), avoid=NOWHERE)
        assert len(on.made()) == 4


def striking(on: Stage, kind: JobKind, at: str, *, dies: bool = False) -> Audit:
    """Return an audit that has a person suspend the job right after keepstep's first write with these words."""
    struck: list[str] = []

    def strike(one: Write) -> None:
        done = [words for words in one.why.split("; ") if "next: " not in words]
        if one.refused or struck or not any(at in words for words in done):
            return
        struck.append(one.why)
        write(on, kind, True)
        if dies:
            raise Struck

    return strike


async def stays_down(on: Stage, hands: Hands, wanted: RestartOrder, kind: JobKind) -> None:
    """See that the restart waits for whoever suspended the job, however often it is looked at."""
    for _ in range(10):
        report = await pursue(hands, wanted, met=lambda report: "not by keepstep" in report.because)
        assert not report.done
        await until(lambda: not on.pods())
        await asyncio.sleep(0.05)  # the job's own controller would make pods within this time, were it resumed
    assert not on.pods()
    spec = on.there.store.get(STORED[kind], "j", "default")["spec"]
    assert (spec["runPolicy"] if kind is JobKind.PYTORCHJOB else spec)["suspend"] is True


@pytest.mark.parametrize("kind", SUSPENDING)
async def test_a_suspension_between_the_record_of_a_restart_and_its_own_is_the_person_s(
    tmp_path: Path, kind: JobKind
) -> None:
    """It was taken for keepstep's own, and undone by the step that resumes."""
    async with stage(tmp_path) as on, on.hands(striking(on, kind, "step 0: ")) as hands:
        on.submit(kind, restart="ExitCode")
        job = (await placed(hands)).job
        seen: list[Sighting] = []
        watching = asyncio.create_task(watched(hands, seen))
        wanted = order(job, Level.JOB, *launches(job))
        await stays_down(on, hands, wanted, kind)
        assert isinstance(seen[-1], Suspended), "people are told, and no deadline runs"
        write(on, kind, False)
        await until(lambda: len(on.pods()) == 2)
        assert (await pursue(hands, wanted)).done
        await hands.workloads.create(launches(job, incarnation=2), avoid=NOWHERE)
        assert len(on.made()) == 4
        watching.cancel()


async def test_a_person_who_suspends_and_resumes_before_any_pod_went_has_not_done_the_restart(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands(striking(on, JobKind.JOBSET, "step 0: ")) as hands:
        on.submit(JobKind.JOBSET)
        job = (await placed(hands)).job
        undoing = Undoing(on, times=0)
        undoing.away = True
        wanted = order(job, Level.JOB, *launches(job))
        await pursue(hands, wanted, met=lambda report: "not by keepstep" in report.because)
        write(on, JobKind.JOBSET, False)
        undoing.away = False
        assert (await pursue(hands, wanted)).done
        await hands.workloads.create(launches(job, incarnation=2), avoid=NOWHERE)
        assert len(on.made()) == 4


@pytest.mark.parametrize("kind", SUSPENDING)
async def test_a_suspension_right_after_keepstep_resumed_the_job_outlives_keepstep_s_death(
    tmp_path: Path, kind: JobKind
) -> None:
    """The successor read that the job was still to be resumed, and resumed it."""
    async with stage(tmp_path) as on:
        on.submit(kind, restart="ExitCode")
        async with on.hands(striking(on, kind, "resume: all pods", dies=True)) as hands:
            job = (await placed(hands)).job
            wanted = order(job, Level.JOB, *launches(job))
            with pytest.raises(Struck):
                await pursue(hands, wanted)
        async with on.hands() as hands:
            await found_again(hands, job)
            await stays_down(on, hands, wanted, kind)
            write(on, kind, False)
            assert (await pursue(hands, wanted)).done


async def found_again(hands: Hands, job: JobRef) -> None:
    """Return once the hands see the job."""
    await until(lambda: hands.sight.job(job.uid) is not None)


async def held_down(on: Stage, wanted: RestartOrder) -> None:
    """Pursue a restart until the process dies, right after it noted that the job is suspended."""

    def die(one: Write) -> None:
        if "step 1: next: await" in one.why and not one.refused:
            raise Struck

    async with on.hands(die) as hands:
        with pytest.raises(Struck):
            await pursue(hands, wanted)


class Undoing:
    """A person, or a controller of his, that resumes the job each time that keepstep suspended it.

    The job's own controller does not look meanwhile, so that the old pods live on.
    """

    def __init__(self, on: Stage, times: int) -> None:
        self.on, self.times, self.suspended = on, times, 0
        self.controller = next(one for one in on.plane.controllers if isinstance(one, JobSetController))
        self.away = False
        self.look = self.controller.sync
        self.controller.sync = self.sync  # type: ignore[method-assign] # a controller that is told when to look

    def sync(self, key: Key) -> Steps:
        """Look at the job, unless away."""
        return (yield from self.look(key)) if not self.away else None

    def __call__(self, one: Write) -> None:
        if one.refused:
            return
        if "step 0: " in one.why:
            self.away = self.times > 0
        self.suspended += "suspend: the controller" in one.why
        if "step 1: next: await" in one.why and self.times:
            self.times -= 1
            write(self.on, JobKind.JOBSET, False)


async def undone(
    on: Stage, undoing: Undoing, met: Callable[[RestartReport], bool], then: Callable[[], None] | None = None
) -> None:
    """Restart a job whose suspension is undone until that is met; ``then`` is done to let it come to its end."""
    async with on.hands(undoing) as hands:
        on.submit(JobKind.JOBSET)
        job = (await placed(hands)).job
        wanted = order(job, Level.JOB, *launches(job))
        assert met(await pursue(hands, wanted, met=met))
        if then is not None:
            then()
            await pursue(hands, wanted)
        await hands.workloads.create(launches(job, incarnation=2), avoid=NOWHERE)
    assert len(on.made()) == 4


async def test_a_suspension_that_is_undone_while_the_old_pods_live_is_made_once_more(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        undoing = Undoing(on, times=1)
        await undone(on, undoing, lambda report: report.done)
        assert undoing.suspended == 2


async def test_a_suspension_that_is_undone_each_time_is_told_and_not_fought_for(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        undoing = Undoing(on, times=2)

        def give_in() -> None:
            undoing.away = False
            write(on, JobKind.JOBSET, True)

        await undone(on, undoing, lambda report: "somebody resumed" in report.waits, give_in)
        assert undoing.suspended == 2


@pytest.mark.parametrize("kind", [*SUSPENDING, JobKind.VOLCANO])
async def test_a_job_that_is_resumed_after_its_end_is_seen_and_put_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: JobKind
) -> None:
    """Its new pods would wait for tasks that never come."""
    monkeypatch.setattr(kube_controllers, "CONFIRM", timedelta(seconds=0.5))
    async with stage(tmp_path) as on, on.hands() as hands:
        policies = {"policies": [{"event": "PodFailed", "action": "RestartJob"}]} if kind is JobKind.VOLCANO else {}
        on.submit(kind, restart="ExitCode", **policies)
        job = (await placed(hands)).job
        seen: list[Sighting] = []
        watching = asyncio.create_task(watched(hands, seen))
        uids = frozenset(launch.task.uid for launch in launches(job))
        await until(lambda: bool(seen))
        await hands.controllers.end(job.uid, uids, succeeded=False)
        await until(lambda: on.view(hands, job).stopped and not hands.sight.pods(job.uid))
        resume(on, kind, job)
        await until(lambda: isinstance(seen[-1], Found) and len(on.pods()) == 2)
        assert isinstance(seen[-1], Found)
        assert seen[-1].resumed
        await put_down(hands, job)
        await until(lambda: not on.pods() and isinstance(seen[-1], Suspended))
        watching.cancel()


def resume(on: Stage, kind: JobKind, job: JobRef) -> None:
    """Let a person start the job again, as its kind has it."""
    if kind is not JobKind.VOLCANO:
        write(on, kind, False)
        return
    target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": job.uid}
    owner = {**target, "controller": True, "blockOwnerDeletion": True}
    meta = {"name": "j-resume", "ownerReferences": [owner]}
    on.there.store.create(kinds.VOLCANO_COMMAND, {"metadata": meta, "target": target, "action": "ResumeJob"}, "default")


@pytest.mark.parametrize("kind", [*SUSPENDING, JobKind.VOLCANO])
async def test_the_pods_of_a_refused_job_do_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: JobKind
) -> None:
    """Their launchers waited for tasks that never came, on devices that nobody else could have."""
    monkeypatch.setattr(kube_controllers, "CONFIRM", timedelta(seconds=0.5))
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(kind, restart="ExitCode")
        spec = JOB_SPEC.model_copy(update={"nodes": 3}).model_dump_json()
        on.there.store.patch(STORED[kind], "j", {"metadata": {"annotations": {SPEC: spec}}}, "default")
        seen: list[Sighting] = []
        watching = asyncio.create_task(watched(hands, seen))
        await until(lambda: bool(seen) and len(on.pods()) == 2)
        assert isinstance(seen[-1], Unfit)
        job = seen[-1].job
        await put_down(hands, job, refused=True)
        await until(lambda: not on.pods() and isinstance(seen[-1], Suspended))
        assert "put it right, then resume it" in str(seen[-1])
        right = {SPEC: JOB_SPEC.model_dump_json()}
        on.there.store.patch(STORED[kind], "j", {"metadata": {"annotations": right}}, "default")
        resume(on, kind, job)
        await until(lambda: isinstance(seen[-1], Found) and len(on.pods()) == 2)
        assert isinstance(seen[-1], Found)
        assert not seen[-1].resumed
        watching.cancel()


async def put_down(hands: Hands, job: JobRef, *, refused: bool = False) -> None:
    """End a job that has no tasks, until it is down."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                await hands.controllers.end(job.uid, frozenset(), succeeded=False, refused=refused)
            except Transient:
                await asyncio.sleep(0.05)  # between looks, as the scheduler-adapter waits
            else:
                return


async def test_a_job_that_ends_while_a_person_has_suspended_it_is_known_when_he_resumes_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.JOB)
        job = (await placed(hands)).job
        write(on, JobKind.JOB, True)
        await until(lambda: not hands.sight.pods(job.uid))
        await hands.controllers.end(job.uid, frozenset(each.task.uid for each in launches(job)), succeeded=False)
        write(on, JobKind.JOB, False)
        found = await said(hands.controllers, Found)
        assert isinstance(found, Found)
        assert found.resumed
