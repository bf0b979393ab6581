"""Whole trainings where nobody has more rights than are shipped: agents join by the tokens of their pods alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keepstep.contracts.events import CheckpointCommitted, IncidentOpened, JobSucceeded, TaskLost
from keepstep.contracts.taxonomy import Level, LossCause
from keepstep.runtime.rights import DEFAULT
from keepstep.runtime.rights_of_pods import Caller
from tests.system.record import read_losses

from ..controllers.pods import holds
from ..server import kinds
from .deployed import Deployed, deployed_on
from .manifests import phase
from .stack import kube_stack
from .story import SAVE_EVERY, SAVES, data, delete, recovered, uids
from .trainings import NAME, training

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(600)]

STEPS = 600


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Deployed]:
    async with kube_stack(tmp_path, nodes=3, gpus=2, rbac=True) as k, deployed_on(k) as stack:
        yield stack


async def begun(s: Deployed) -> dict[str, str]:
    """Start a training that ends by itself and return its pods once it has a checkpoint."""
    where = ("--checkpoint-dir=/data", f"--save-every={SAVE_EVERY}", "--losses=/data/losses")
    await s.create(training(f"--steps={STEPS}", "--step-seconds=0.05", *where), options=(SAVES,))
    await s.stepping(NAME, 4, 1)
    await s.until(lambda: s.all(CheckpointCommitted), "a checkpoint is committed")
    return uids(s)


async def expect_success(s: Deployed) -> None:
    """The job ends well, every step was made, and no right was lacking on the way."""
    await s.until(lambda: s.all(JobSucceeded), "the job succeeds")
    await s.k.until(lambda: holds(s.k.store.get(kinds.JOB, NAME, "default"), "Complete"))
    assert list(read_losses(data(s) / "losses")) == list(range(1, STEPS + 1))
    assert len(s.all(IncidentOpened)) == 1
    assert s.refused == []


def let_in(s: Deployed) -> set[str]:
    """Return the pods that the gate let in."""
    told = s.log_of("gate").read_text(encoding="utf-8")
    uids_ = (pod["metadata"]["uid"] for pod in s.k.pods(NAME))
    return {uid for uid in uids_ if '"event": "let in"' in told and f'"user": "{Caller(DEFAULT, uid).user}"' in told}


async def test_a_rank_that_dies_is_started_again_in_its_pod_and_the_job_succeeds(s: Deployed) -> None:
    before = await begun(s)
    assert let_in(s) == set(before.values())
    s.kill_rank(NAME, 3)
    await recovered(s, Level.IN_PLACE, ranks=2)
    assert uids(s) == before
    await expect_success(s)
    assert {phase(pod) for pod in s.k.pods(NAME)} == {"Succeeded"}


async def test_a_pod_that_is_deleted_is_replaced_by_one_that_is_let_in_and_the_job_succeeds(s: Deployed) -> None:
    before = await begun(s)
    delete(s, "1")
    await recovered(s, Level.POD, ranks=2)
    after = uids(s)
    assert [lost.by for lost in s.all(TaskLost)] == [LossCause.DELETED]
    assert (after["0"], after["1"] != before["1"]) == (before["0"], True)
    assert let_in(s) >= set(after.values())
    await expect_success(s)
