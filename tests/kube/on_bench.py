"""A bench of nodes, and jobs and pods to run on it: what the tests of the controllers start from."""

from collections.abc import Sequence
from datetime import timedelta

from .controllers.plane import Chance
from .controllers.pods import phase
from .replay.bench import Bench
from .server import kinds
from .server.kinds import Kind
from .server.objects import Obj

LAG = timedelta(milliseconds=5)
SPEC: Obj = {
    "containers": [{"name": "pytorch", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
    "restartPolicy": "Never",
}


def a_bench(nodes: int = 4) -> Bench:
    return Bench("ns", {f"n{number}": False for number in range(nodes)}, Chance(), LAG)


def pods_of(bench: Bench) -> list[Obj]:
    return list(bench.store.scan(kinds.POD, "ns"))


def a_pod(name: str, *, priority: int = 0, **spec: object) -> Obj:
    return {"metadata": {"name": name}, "spec": {**SPEC, "priority": priority, **spec}}


def a_job(**spec: object) -> Obj:
    shape = {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": {"spec": SPEC}}
    return {"metadata": {"name": "j"}, "spec": {**shape, **spec}}


def a_volcano_job(**spec: object) -> Obj:
    tasks = [{"name": "worker", "replicas": 2, "template": {"spec": SPEC}}]
    return {"metadata": {"name": "j"}, "spec": {"minAvailable": 2, "tasks": tasks, **spec}}


def job_of(kind: Kind) -> Obj:
    """Return a job of the kind with two pods."""
    if kind is kinds.JOB:
        return a_job()
    if kind is kinds.VOLCANO_JOB:
        return a_volcano_job()
    if kind is kinds.PYTORCH_JOB:
        replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": SPEC}}
        return {"metadata": {"name": "j"}, "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}}}
    if kind is kinds.JOB_SET:
        template = {"spec": a_job()["spec"]}
        return {"metadata": {"name": "j"}, "spec": {"replicatedJobs": [{"name": "w", "template": template}]}}
    trainer = {"numNodes": 2, "image": "train:1", "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}
    return {"metadata": {"name": "j"}, "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}}


def running(bench: Bench, count: int) -> bool:
    return bench.advance_until(lambda: sum(phase(pod) == "Running" for pod in pods_of(bench)) >= count, 30)


def tell_all(bench: Bench, pods: Sequence[Obj], what: str, value: str) -> None:
    for pod in pods:
        body = {"metadata": {"annotations": {f"fake.kubelet/{what}": value}}}
        bench.store.patch(kinds.POD, pod["metadata"]["name"], body, "ns")
