"""A real training of two pods and four ranks on the test cluster, injected as people do it, through faults."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keepstep.contracts.events import JobSucceeded, TaskLost
from keepstep.contracts.taxonomy import Level, LossCause
from tests.system.record import read_losses

from ..controllers.pods import holds
from ..server import kinds
from .manifests import phase
from .services import Keepstep, keepstep_on
from .stack import kube_stack
from .story import data, in_seat, recovered, started, uids
from .trainings import training

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=3, gpus=2) as k, keepstep_on(k) as stack:
        yield stack


async def test_a_training_that_reaches_its_last_step_completes_its_job(s: Keepstep) -> None:
    await s.create(training("--steps=20", "--losses=/data/losses"))
    await s.until(lambda: s.all(JobSucceeded), "the job succeeds")
    await s.k.until(lambda: holds(s.k.store.get(kinds.JOB, "j", "default"), "Complete"))
    assert {phase(pod) for pod in s.k.pods("j")} == {"Succeeded"}
    assert list(read_losses(data(s) / "losses")) == list(range(1, 21))


async def test_a_rank_that_dies_is_started_again_in_the_pods_that_there_are(s: Keepstep) -> None:
    before = await started(s, ranks=2)
    s.kill_rank("j", 3)
    await recovered(s, Level.IN_PLACE, ranks=2)
    assert uids(s) == before


async def test_a_container_that_dies_is_replaced_with_its_pod_and_the_other_pod_stays(s: Keepstep) -> None:
    before = await started(s, ranks=2)
    pod = s.k.pod(in_seat(s, "1")[0])
    assert pod is not None
    s.k.kill(pod, "main")
    await recovered(s, Level.POD, ranks=2)
    assert [lost.by for lost in s.all(TaskLost)] == [LossCause.LAUNCHER_EXITED]
    assert uids(s)["0"] == before["0"]
    assert uids(s)["1"] != before["1"]
    assert s.k.store.get(kinds.JOB, "j", "default")["status"]["failed"] == 1


async def test_a_deleted_pod_is_replaced_and_the_other_pod_stays(s: Keepstep) -> None:
    before = await started(s, ranks=2)
    s.k.store.delete(kinds.POD, in_seat(s, "1")[0], "default")
    await recovered(s, Level.POD, ranks=2)
    assert [lost.by for lost in s.all(TaskLost)] == [LossCause.DELETED]
    assert (uids(s)["0"], len(uids(s))) == (before["0"], 2)
    assert uids(s)["1"] != before["1"]
