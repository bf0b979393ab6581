"""Specifications of jobs of two pods that carry keepstep's label, of each kind."""

from typing import Any, assert_never

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import JOB_LABEL
from tests.kube.test_plans_work import INDEXED


def injected(kind: JobKind, restart: str) -> dict[str, Any]:
    """Return the spec of a job of two pods with keepstep's label on its pods."""
    labels = {"metadata": {"labels": {JOB_LABEL: "j"}}}
    gpu = {"limits": {"nvidia.com/gpu": "8"}}
    container = {"name": "pytorch", "image": "t:1", "resources": gpu}
    pod = {**labels, "spec": {"containers": [container], "restartPolicy": "Never"}}
    indexed = {**INDEXED, "template": pod}
    match kind:
        case JobKind.VOLCANO:
            return {"minAvailable": 2, "tasks": [{"name": "worker", "replicas": 2, "template": pod}]}
        case JobKind.PYTORCHJOB:
            replica = {"replicas": 1, "restartPolicy": restart, "template": pod}
            return {"pytorchReplicaSpecs": {"Worker": replica, "Master": replica}}
        case JobKind.TRAINJOB:
            node = {"name": "node", "template": {"spec": {"template": labels}}}
            patch = {"template": {"spec": {"replicatedJobs": [node]}}}
            trainer = {"numNodes": 2, "image": "t:1", "resourcesPerNode": gpu}
            patches = [{"manager": "keepstep.io/inject", "trainingRuntimeSpec": patch}]
            return {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer, "runtimePatches": patches}
        case JobKind.JOBSET:
            return {"replicatedJobs": [{"name": "w", "template": {"spec": indexed}}]}
        case JobKind.JOB:
            return indexed
        case other:
            assert_never(other)
