"""A kind of jobs that cannot be seen for a while is not one without jobs, and is in no other kind's way."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from keepstep.adapters import kube_job_caches
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.contracts.taxonomy import Level
from keepstep.ports.errors import Transient
from tests.kube.cluster import until
from tests.kube.server.access import Ask
from tests.kube.server.errors import ApiError
from tests.kube.shown import STORED
from tests.kube.stage import launches, order, placed, stage

FORBIDDEN = ApiError(403, "Forbidden", "jobs are forbidden")
UNSERVED = ApiError(404, "NotFound", "the server could not find the requested resource")
BROKEN = ApiError(500, "InternalError", "conversion webhook failed")


def hiding(kind: JobKind, error: ApiError) -> Callable[[Ask], ApiError | None]:
    """Answer every look at the jobs of one kind with an error."""
    stored = STORED[kind]

    def refuse(ask: Ask) -> ApiError | None:
        looks = ask.verb in ("list", "watch") and (ask.group, ask.resource) == (stored.group, stored.plural)
        return error if looks else None

    return refuse


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (JobKind.JOBSET, FORBIDDEN),
        (JobKind.TRAINJOB, UNSERVED),
        (JobKind.VOLCANO, UNSERVED),
        (JobKind.JOB, BROKEN),
    ],
)
async def test_a_job_is_not_gone_while_its_kind_cannot_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: JobKind, error: ApiError
) -> None:
    monkeypatch.setattr(kube_job_caches, "ABSENT_EVERY", timedelta(seconds=0.2))
    async with stage(tmp_path) as on:
        on.submit(kind)
        async with on.hands() as hands:
            job = await placed(hands)
        on.there.server.app.refuse = hiding(kind, error)
        async with on.hands() as hands:
            assert len(await hands.workloads.tasks()) == 2
            if error is not BROKEN:
                await until(lambda: hands.sight.kinds.answered(kind))
            assert not (await hands.controllers.jobs()).lacks(job.job.uid, job.kind)
            with pytest.raises(Transient):
                await hands.controllers.restart(order(job.job, Level.JOB, *launches(job.job)))
            on.there.server.app.refuse = lambda _: None
            await until(lambda: hands.sight.job(job.job.uid) is not None)
            on.there.store.delete(STORED[kind], "j", "default")
            await until(lambda: hands.sight.job(job.job.uid) is None)
            assert (await hands.controllers.jobs()).lacks(job.job.uid, job.kind)


async def test_where_volcano_is_not_installed_a_batch_job_that_is_gone_is_missed(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.submit(JobKind.JOB)
        async with on.hands() as hands:
            job = await placed(hands)
        on.there.store.delete(STORED[JobKind.JOB], "j", "default")
        on.there.server.app.refuse = hiding(JobKind.VOLCANO, UNSERVED)
        async with on.hands() as hands:
            await until(lambda: all(map(hands.sight.kinds.answered, JobKind)))
            assert (await hands.controllers.jobs()).lacks(job.job.uid, job.kind)


async def test_a_kind_that_is_out_of_order_delays_no_job_of_another(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.there.server.app.refuse = hiding(JobKind.JOBSET, BROKEN)
        on.submit(JobKind.PYTORCHJOB)
        await placed(hands)
        assert len(on.tasks()) == 2


async def test_nothing_is_decided_on_a_job_whose_watch_is_broken(tmp_path: Path) -> None:
    async with stage(tmp_path) as on, on.hands() as hands:
        on.submit(JobKind.PYTORCHJOB)
        job = (await placed(hands)).job
        writes = len(on.there.writes)
        on.there.server.app.refuse = hiding(JobKind.PYTORCHJOB, BROKEN)
        await on.there.server.down()
        await on.there.server.up()
        await until(lambda: not hands.sight.kinds.seen(JobKind.PYTORCHJOB))
        with pytest.raises(Transient):
            await hands.controllers.restart(order(job, Level.JOB, *launches(job)))
        assert len(on.there.writes) == writes
