"""Manifests of the five kinds as users write them, each of four pods."""

from collections.abc import Sequence
from typing import Any

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.injection.inject import Injected, inject
from keepstep.injection.objection import Objection
from keepstep.injection.ours import Ours
from keepstep.injection.put import at
from keepstep.injection.shapes import SHAPES
from keepstep.injection.wishes import Wishes
from tests.kube.objects import merged

TORCHRUN = ("torchrun", "--nproc_per_node=2", "train.py", "--lr", "1")
OURS = Ours(image="registry.example/keepstep:1", pool="p")
EVERY = pytest.mark.parametrize("kind", JobKind)
GPUS = {"limits": {"nvidia.com/gpu": "8"}}


def container(name: str = "main", command: Sequence[str] = TORCHRUN, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "registry.example/train:1", "command": list(command), **more}


def template(*containers: dict[str, Any], restart: str | None = "Never", **spec: Any) -> dict[str, Any]:
    policy = {} if restart is None else {"restartPolicy": restart}
    return {"spec": {"containers": list(containers), **policy, **spec}}


def manifest(
    kind: JobKind, *, restart: str | None = "Never", command: Sequence[str] = TORCHRUN, **more: Any
) -> dict[str, Any]:
    """Return a job whose pods have one container with this command; ``more`` are further fields of it."""
    name = {JobKind.PYTORCHJOB: "pytorch"}.get(kind, "main")
    pods = template(container(name, command, **more), restart=restart)
    match kind:
        case JobKind.VOLCANO:
            tasks = [{"name": "master", "replicas": 1, "template": pods}, {"name": "worker", "replicas": 3}]
            tasks[1]["template"] = pods
            return _job("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 4, "tasks": tasks})
        case JobKind.PYTORCHJOB:
            bare = template(container(name, command, **more), restart=None)
            policy = {} if restart is None else {"restartPolicy": restart}
            replicas = {"Worker": {"replicas": 3, "template": bare, **policy}, "Master": {"template": bare, **policy}}
            return _job("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": replicas})
        case JobKind.TRAINJOB:
            trainer = {"image": "registry.example/train:1", "command": list(command), "numNodes": 4}
            if "resources" in more:
                trainer["resourcesPerNode"] = more["resources"]
            reference = {"name": "torch-distributed"}
            return _job("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": reference, "trainer": trainer})
        case JobKind.JOBSET:
            inner = {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": pods}
            roles = [{"name": "node", "replicas": 2, "template": {"spec": inner}}]
            return _job("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": roles})
        case JobKind.JOB:
            spec = {"completionMode": "Indexed", "completions": 4, "parallelism": 4, "template": pods}
            return _job("batch/v1", "Job", spec)


def _job(api: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "bert", "namespace": "default"}, "spec": spec}


def runtime(**more: Any) -> dict[str, Any]:
    """Return the runtime that TrainJobs refer to, as Kubeflow ships it."""
    node = {"name": "node", "image": "registry.example/torch:1", **more}
    inner = {"template": {"spec": {"containers": [node]}}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    role = {"name": "node", "replicas": 1, "template": {"metadata": {"labels": labels}, "spec": inner}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch-distributed"},
        "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [role]}}},
    }


def noted(job: dict[str, Any], **notes: str) -> dict[str, Any]:
    """Return the job with annotations of keepstep's: ``nproc`` stands for keepstep.io/nproc."""
    written = {f"keepstep.io/{name.replace('_', '-')}": said for name, said in notes.items()}
    return merged(job, {"metadata": {"annotations": written}})


def answer(job: dict[str, Any], *, ours: Ours = OURS, beside: Wishes | None = None) -> Injected | tuple[Objection, ...]:
    of_train = runtime() if job["kind"] == "TrainJob" else None
    return inject(job, ours, beside=beside, runtime=of_train)


def injected(job: dict[str, Any], *, ours: Ours = OURS, beside: Wishes | None = None) -> Injected:
    found = answer(job, ours=ours, beside=beside)
    assert isinstance(found, Injected), [str(one) for one in found]
    return found


def objections(job: dict[str, Any], *, beside: Wishes | None = None) -> dict[str, str]:
    """Return what is objected to, by field; each objection has a remedy."""
    found = answer(job, beside=beside)
    assert isinstance(found, tuple)
    assert found
    assert all(one.remedy for one in found)
    return {one.field: one.because for one in found}


def pod_specs(job: Injected, kind: JobKind) -> list[Any]:
    """Return the specification of each role's pods."""
    source = job.documents[0]
    return [at(source, role.template) for role in SHAPES[kind].roles(source)]


def plain(document: Any) -> Any:
    """Return the document as one that may be indexed anyhow."""
    return document
