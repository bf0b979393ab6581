"""The example training as people write it for a cluster: one manifest, or several, for each of the five kinds.

All have their checkpoints on the claim ``data`` at /data, and as many ranks in a pod as they ask for devices.
"""

from collections.abc import Sequence
from typing import assert_never

from keepstep.adapters.kube_job_kind import JobKind

from ..replay.bench import runtime
from ..server.objects import Obj
from .images import ROOT
from .manifests import indexed_job

SCRIPT = ROOT / "examples" / "train_ddp.py"
NAME = "j"
IMAGE = "train:1"
_VOLUMES = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def training(*arguments: str, pods: int = 2, ranks: int = 2) -> Obj:
    """Return the indexed Job."""
    job = indexed_job(_container(arguments, pods, ranks), pods=pods, name=NAME)
    job["spec"]["template"]["spec"] |= {"volumes": _VOLUMES}
    return job


def training_of(
    kind: JobKind, *arguments: str, ranks: int = 1, restart: str = "Never", image: str = IMAGE
) -> Sequence[Obj]:
    """Return a training of two pods as a job of that kind, after what it needs; ``restart`` is a PyTorchJob's."""
    container = {**_container(arguments, 2, ranks), "image": image}
    pod: Obj = {"containers": [container], "volumes": _VOLUMES}
    never = {**pod, "restartPolicy": "Never"}
    indexed: Obj = {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": {"spec": never}}
    match kind:
        case JobKind.VOLCANO:
            tasks = [{"name": "worker", "replicas": 2, "template": {"spec": never}}]
            return [_job("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 2, "tasks": tasks})]
        case JobKind.PYTORCHJOB:
            replica = {"replicas": 1, "restartPolicy": restart, "template": {"spec": _named(pod, "pytorch")}}
            both = {"Master": replica, "Worker": replica}
            return [_job("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": both})]
        case JobKind.TRAINJOB:
            return _train_job(never, container)
        case JobKind.JOBSET:
            role = {"name": "w", "template": {"spec": indexed}}
            return [_job("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [role]})]
        case JobKind.JOB:
            return [_job("batch/v1", "Job", indexed)]
        case other:
            assert_never(other)


def _train_job(pod: Obj, container: Obj) -> Sequence[Obj]:
    """Return a runtime whose pods have the claim, and the TrainJob that fills in the rest."""
    own = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", **runtime("with-data")}
    (role,) = own["spec"]["template"]["spec"]["replicatedJobs"]
    mounts = {"volumeMounts": container["volumeMounts"]}
    role["template"]["spec"]["template"]["spec"] = {
        **pod,
        "containers": [{"name": "node", "image": container["image"], **mounts}],
    }
    trainer = {"numNodes": 2, "image": container["image"], "command": container["command"]}
    trainer |= {"resourcesPerNode": container["resources"]}
    ref = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "with-data"}
    return [own, _job("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": ref, "trainer": trainer})]


def _job(api: str, kind: str, spec: Obj) -> Obj:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": NAME}, "spec": spec}


def _named(pod: Obj, container: str) -> Obj:
    return {**pod, "containers": [{**one, "name": container} for one in pod["containers"]]}


def _container(arguments: Sequence[str], pods: int, ranks: int) -> Obj:
    return {
        "name": "main",
        "image": IMAGE,
        "command": ["torchrun", f"--nnodes={pods}", f"--nproc-per-node={ranks}", str(SCRIPT), *arguments],
        "resources": {"limits": {"nvidia.com/gpu": str(ranks)}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
