"""What ``keepstep job inject`` puts into a pod, run as a kubelet runs it: sidecar, install, launcher, binding."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keepstep.contracts.events import TaskJoined
from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.contracts.topology import JobRef, JobSpec, TaskLaunch, TaskRef

from ..server.objects import Obj
from .manifests import phase, state
from .services import POOL, Keepstep, keepstep_on
from .stack import kube_stack
from .trainings import training


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Keepstep]:
    async with kube_stack(tmp_path, nodes=2, gpus=2) as k, keepstep_on(k, services=False) as bus:
        yield bus


def launch_of(job: Obj, index: int) -> TaskLaunch:
    name, uid = job["metadata"]["name"], JobUid(job["metadata"]["uid"])
    spec = JobSpec.model_validate_json(job["metadata"]["annotations"]["keepstep.io/spec"])
    task = TaskRef(name=f"{name}-{index}", uid=TaskUid(f"{name}-{index}-a"), index=index)
    return TaskLaunch(pool=POOL, job=JobRef(name=name, uid=uid), task=task, spec=spec)


@pytest.mark.system
async def test_an_injected_pods_agent_joins_from_the_pods_own_address_once_the_pod_is_bound(s: Keepstep) -> None:
    job = await s.create(training("--steps=1"))
    await s.k.until(lambda: [phase(pod) for pod in s.k.pods("j")] == ["Running", "Running"])
    for pod in s.k.pods("j"):
        index = int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])
        await s.client.bindings.bind(pod["metadata"]["uid"], launch_of(job, index))
    await s.until(lambda: len(s.all(TaskJoined)) == 2, "both joined")
    addresses = {pod["status"]["podIP"] for pod in s.k.pods("j")}
    assert {joined.address for joined in s.all(TaskJoined)} == addresses
    assert {joined.node for joined in s.all(TaskJoined)} == {pod["spec"]["nodeName"] for pod in s.k.pods("j")}


@pytest.mark.system
async def test_the_agent_is_a_sidecar_that_starts_first_and_the_launcher_waits_for_a_task(s: Keepstep) -> None:
    await s.create(training("--steps=1"))
    await s.k.until(lambda: [phase(pod) for pod in s.k.pods("j")] == ["Running", "Running"])
    pod = s.k.pods("j")[0]
    assert "running" in state(pod, "keepstep-agent")["state"]
    assert state(pod, "keepstep-install")["state"]["terminated"]["exitCode"] == 0
    assert state(pod)["restartCount"] == state(pod, "keepstep-agent")["restartCount"] == 0
