"""A real training on the test cluster, injected as people do it, through faults."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keepstep.contracts.events import IncidentClosed, JobResumed, JobStarted, JobSucceeded, RecoveryPlanned, TaskLost
from keepstep.contracts.taxonomy import Level, LossCause
from tests.system.record import read_losses

from ..controllers.pods import holds
from ..server import kinds
from ..server.objects import Obj
from .manifests import phase
from .services import Keepstep, keepstep_on
from .stack import kube_stack
from .trainings import training

ENDLESS = ("--steps=100000", "--step-seconds=0.05", "--checkpoint-dir=/data", "--save-every=10")
SAVES = ("--checkpoint-dir", "/data")
pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=2) as k, keepstep_on(k) as stack:
        yield stack


def uids(s: Keepstep) -> dict[str, str]:
    """Return the uid of each index's pod, those that ended or are on their way out left aside."""
    index = "batch.kubernetes.io/job-completion-index"
    live = [pod for pod in s.k.pods("j") if phase(pod) == "Running" and "deletionTimestamp" not in pod["metadata"]]
    return {pod["metadata"]["annotations"][index]: pod["metadata"]["uid"] for pod in live}


def pod_of(s: Keepstep, index: int) -> Obj:
    """Return the pod of an index."""
    return next(pod for pod in s.k.pods("j") if pod["metadata"]["uid"] == uids(s)[str(index)])


async def started(s: Keepstep) -> dict[str, str]:
    """Start an endless training and return its pods once it has a checkpoint."""
    await s.create(training(*ENDLESS), options=SAVES)
    await s.stepping("j", 4, 1)
    await s.k.until(lambda: list((s.k.folder / "nodes" / "claims" / "default" / "data").glob("*")))
    return uids(s)


async def resumed(s: Keepstep, levels: list[Level]) -> None:
    """Wait until the training runs again, by those levels one after the other."""
    await s.until(lambda: s.all(IncidentClosed), "the incident is closed")
    assert [plan.level for plan in s.all(RecoveryPlanned)] == levels, s.told()
    await s.stepping("j", 4, s.all(JobResumed)[-1].generation)
    assert len(s.all(JobStarted)) == len(s.all(JobResumed)) == len(s.all(IncidentClosed)) == 1


async def test_a_training_that_reaches_its_last_step_completes_its_job(s: Keepstep) -> None:
    await s.create(training("--steps=20", "--losses=/data/losses"))
    await s.until(lambda: s.all(JobSucceeded), "the job succeeds")
    await s.k.until(lambda: holds(s.k.store.get(kinds.JOB, "j", "default"), "Complete"))
    assert {phase(pod) for pod in s.k.pods("j")} == {"Succeeded"}
    assert list(read_losses(s.k.folder / "nodes" / "claims" / "default" / "data" / "losses")) == list(range(1, 21))


async def test_a_rank_that_dies_is_started_again_in_the_pods_that_there_are(s: Keepstep) -> None:
    before = await started(s)
    s.kill_rank("j", 3)
    await resumed(s, [Level.IN_PLACE])
    assert uids(s) == before


async def test_a_container_that_dies_is_replaced_with_its_pod_and_the_other_pod_stays(s: Keepstep) -> None:
    before = await started(s)
    s.k.kill(pod_of(s, 1), "main")
    await resumed(s, [Level.POD])
    assert [lost.by for lost in s.all(TaskLost)] == [LossCause.LAUNCHER_EXITED]
    assert uids(s)["0"] == before["0"]
    assert uids(s)["1"] != before["1"]
    assert s.k.store.get(kinds.JOB, "j", "default")["status"]["failed"] == 1


async def test_a_deleted_pod_is_replaced_and_the_other_pod_stays(s: Keepstep) -> None:
    before = await started(s)
    s.k.store.delete(kinds.POD, pod_of(s, 1)["metadata"]["name"], "default")
    await resumed(s, [Level.POD])
    assert [lost.by for lost in s.all(TaskLost)] == [LossCause.DELETED]
    assert (uids(s)["0"], len(uids(s))) == (before["0"], 2)
    assert uids(s)["1"] != before["1"]
