"""Manifests from a few words: a job of any kind whose pods all run the same command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_owner import JobKind
from keepstep.adapters.kube_view import QUEUE_LABEL
from keepstep.injection.runtimes import API as TRAINER_API

RETRIES = 1000
"""Of the job's own: every recovery may cost one, and a month has many. keepstep's budgets are the ones that count."""
RUNTIME = "torch-distributed"
"""What Kubeflow Trainer installs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A folder of the pods that comes from elsewhere; ``source`` is the volume's as Kubernetes writes it."""

    name: str
    path: str
    source: JsonObject
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What people ask for."""

    name: str
    namespace: str
    image: str
    command: tuple[str, ...]
    nodes: int = 1
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""
    priority: str = ""
    volumes: tuple[Volume, ...] = ()
    restart: str = "Never"


def make(kind: JobKind, wanted: Wanted) -> JsonObject:
    """Return the manifest; of a TrainJob without the volumes, which only its runtime can have."""
    match kind:
        case JobKind.VOLCANO:
            return _volcano(wanted)
        case JobKind.PYTORCHJOB:
            return _pytorchjob(wanted)
        case JobKind.TRAINJOB:
            return _trainjob(wanted)
        case JobKind.JOBSET:
            role = {"name": "node", "replicas": 1, "template": {"spec": _job_spec(wanted)}}
            return _document("jobset.x-k8s.io/v1alpha2", "JobSet", wanted, {"replicatedJobs": [role]})
        case JobKind.JOB:
            return _document("batch/v1", "Job", wanted, _job_spec(wanted))
        case other:
            assert_never(other)


def _volcano(wanted: Wanted) -> JsonObject:
    task = {"name": "worker", "replicas": wanted.nodes, "template": _template(wanted, "main")}
    spec: dict[str, object] = {
        "minAvailable": wanted.nodes,
        "schedulerName": "volcano",
        "maxRetry": RETRIES,
        "plugins": {"env": [], "svc": []},
        "tasks": [task],
    }
    if wanted.queue:
        spec["queue"] = wanted.queue
    if wanted.priority:
        spec["priorityClassName"] = wanted.priority
    return _document("batch.volcano.sh/v1alpha1", "Job", wanted, spec, queued=False)


def _pytorchjob(wanted: Wanted) -> JsonObject:
    replica = {"restartPolicy": wanted.restart, "template": _template(wanted, "pytorch", restart=False)}
    replicas = {"Master": {"replicas": 1, **replica}}
    if wanted.nodes > 1:
        replicas["Worker"] = {"replicas": wanted.nodes - 1, **replica}
    policy = {"cleanPodPolicy": "None"}
    return _document("kubeflow.org/v1", "PyTorchJob", wanted, {"runPolicy": policy, "pytorchReplicaSpecs": replicas})


def _trainjob(wanted: Wanted) -> JsonObject:
    trainer: dict[str, object] = {
        "image": wanted.image,
        "command": list(wanted.command),
        "numNodes": wanted.nodes,
    }
    if wanted.env:
        trainer["env"] = _env(wanted)
    if wanted.limits:
        trainer["resourcesPerNode"] = {"limits": dict(wanted.limits)}
    return _document(TRAINER_API, "TrainJob", wanted, {"runtimeRef": {"name": RUNTIME}, "trainer": trainer})


def _job_spec(wanted: Wanted) -> JsonObject:
    return {
        "completionMode": "Indexed",
        "completions": wanted.nodes,
        "parallelism": wanted.nodes,
        "backoffLimit": RETRIES,
        "template": _template(wanted, "main"),
    }


def _document(api: str, kind: str, wanted: Wanted, spec: JsonObject, *, queued: bool = True) -> JsonObject:
    labels = dict(wanted.labels)
    if queued and wanted.queue:
        labels[QUEUE_LABEL] = wanted.queue
    metadata: dict[str, object] = {"name": wanted.name, "namespace": wanted.namespace}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def _template(wanted: Wanted, container: str, *, restart: bool = True) -> JsonObject:
    trains: dict[str, object] = {"name": container, "image": wanted.image, "command": list(wanted.command)}
    if wanted.env:
        trains["env"] = _env(wanted)
    if wanted.limits:
        trains["resources"] = {"limits": dict(wanted.limits)}
    if wanted.volumes:
        trains["volumeMounts"] = [_mount(one) for one in wanted.volumes]
    spec: dict[str, object] = {"containers": [trains]}
    if restart:
        spec["restartPolicy"] = wanted.restart
    if wanted.priority:
        spec["priorityClassName"] = wanted.priority
    if wanted.volumes:
        spec["volumes"] = [{"name": one.name, **one.source} for one in wanted.volumes]
    labels = dict(wanted.labels)
    return {"metadata": {"labels": labels}, "spec": spec} if labels else {"spec": spec}


def _env(wanted: Wanted) -> list[JsonObject]:
    return [{"name": name, "value": value} for name, value in wanted.env.items()]


def _mount(volume: Volume) -> JsonObject:
    mount: dict[str, object] = {"name": volume.name, "mountPath": volume.path}
    return {**mount, "readOnly": True} if volume.read_only else mount
