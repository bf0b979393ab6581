"""A job that a person orders in the console's form, on a cluster where nobody has more rights than are shipped."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keepstep.console.asked import JobAsked
from keepstep.console.objects import OnObjects
from keepstep.contracts.events import (
    JobCreated,
    JobDeleted,
    JobFailed,
    JobResumed,
    JobStopRequested,
    RecoveryStarted,
)
from keepstep.contracts.kubernetes import DataSource, JobKind, OnKubernetes, SourceType
from keepstep.contracts.orders import CreateJob, StopJob
from keepstep.contracts.taxonomy import Level
from keepstep.core.ordering import creation, ordered
from keepstep.runtime.rights import DEFAULT

from ..server import kinds
from .deployed import Deployed, deployed_on
from .stack import kube_stack
from .story import uids
from .trainings import IMAGE, NAME, SCRIPT

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(600)]


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Deployed]:
    async with kube_stack(tmp_path, nodes=3, gpus=2, rbac=True) as k, deployed_on(k) as stack:
        await stack.lend_bus()
        yield stack


def order(kind: JobKind = JobKind.JOB) -> CreateJob:
    """Return what the console says for a filled form."""
    asked = JobAsked(
        argv=("torchrun", "--nnodes=2", "--nproc-per-node=2", str(SCRIPT), "--steps=100000", "--step-seconds=0.05"),
        name=NAME,
        nodes=2,
        kubernetes=OnKubernetes(
            image=IMAGE,
            kind=kind,
            resources={"nvidia.com/gpu": 2},
            sources=(DataSource(type=SourceType.PVC, name="data", path="/data"),),
        ),
    )
    checked = OnObjects(("default",)).check(asked)
    return creation(checked.spec, DEFAULT, by="eve", now=datetime.now(UTC), kubernetes=checked.kubernetes)


async def test_an_order_becomes_a_job_that_recovers_and_is_stopped_by_an_order(s: Deployed) -> None:
    said = order()
    await s.client.say(said)
    await s.stepping(NAME, 4, 1)
    (created,) = s.all(JobCreated)
    [job] = s.k.store.list(kinds.JOB, "default")
    assert created.job is not None
    assert created.job.uid == job["metadata"]["uid"]
    assert (created.ordered, created.by, created.cause) == (said.job, "eve", said.id)
    before = uids(s)
    s.kill_rank(NAME, 3)
    await s.until(lambda: s.all(JobResumed), "the rank is started again")
    assert [begun.level for begun in s.all(RecoveryStarted)] == [Level.IN_PLACE]
    assert uids(s) == before
    again = order().model_copy(update={"kubernetes": said.kubernetes})
    await s.client.say(again)
    await s.until(lambda: [one for one in s.all(JobFailed) if one.job == again.job], "the name is taken")
    [refused] = s.all(JobFailed)
    assert "there is a Job default/j already; choose another name" in refused.because
    await s.client.say(ordered(StopJob, DEFAULT, by="eve", now=datetime.now(UTC), job=created.job, reason="enough"))
    await s.until(lambda: s.all(JobDeleted), "the job is stopped")
    [stopped] = s.all(JobStopRequested)
    assert (stopped.by, stopped.reason) == ("eve", "enough")
    await s.k.until(lambda: s.k.store.get(kinds.JOB, NAME, "default")["spec"].get("suspend") is True)
    assert uids(s) == {}
    assert [str(call) for call in s.k.server.app.calls if call.code in {401, 403}] == []
