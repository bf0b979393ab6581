"""A big cluster made at once: nodes, and pods that run on them, as large as real ones."""

from collections.abc import Iterator
from itertools import count

from . import kinds
from .binding import bind
from .objects import Obj, instant
from .store import Store

_GPUS = {"nvidia.com/gpu": "8"}
_ROOM = {"cpu": "96", "memory": "1Ti", "pods": "110", **_GPUS}
_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")


def fill(store: Store, *, nodes: int, pods: int, namespace: str = "default") -> None:
    """Create the nodes and spread running pods over them; job ``j<n>`` has 16 pods.

    What all have in common is shared between them, which a store whose objects are never changed allows.
    """
    add_node(store, "n00000")
    add_pod(store, "p00000", "n00000", job="j0000", namespace=namespace)
    node = store.peek(kinds.NODE, "n00000")
    pod = store.peek(kinds.POD, "p00000", namespace)
    for at in range(1, nodes):
        labels = node["metadata"]["labels"] | {"kubernetes.io/hostname": f"n{at:05}"}
        store.plant(kinds.NODE, node | {"metadata": node["metadata"] | {"name": f"n{at:05}", "labels": labels}})
    for at in range(1, pods):
        spec = pod["spec"] | {"nodeName": f"n{at % nodes:05}"}
        meta = pod["metadata"] | {"name": f"p{at:05}"} | _of_job(f"j{at // 16:04}")
        store.plant(kinds.POD, pod | {"metadata": meta, "spec": spec})


def _of_job(job: str) -> Obj:
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}", "controller": True}
    labels = {"batch.kubernetes.io/job-name": job, "batch.kubernetes.io/controller-uid": f"uid-{job}", "job-name": job}
    return {"labels": labels, "ownerReferences": [ref]}


def add_node(store: Store, name: str) -> None:
    """Create a ready node with eight GPUs."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    labels |= {"topology.kubernetes.io/zone": "z1", "node.kubernetes.io/instance-type": "gpu8"}
    now = instant(store.now())
    conditions = [
        {"type": kind, "status": str(kind == "Ready"), "lastHeartbeatTime": now, "lastTransitionTime": now}
        for kind in _CONDITIONS
    ]
    images = [{"names": [f"registry.example/image{at}:1"], "sizeBytes": 1 << 30} for at in range(10)]
    status = {"capacity": _ROOM, "allocatable": _ROOM, "conditions": conditions, "images": images}
    store.create(kinds.NODE, {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status})


def add_pod(store: Store, name: str, node: str, *, job: str, namespace: str = "default") -> None:
    """Create a pod of a job that runs on the node."""
    env = [{"name": f"VARIABLE_{at}", "value": f"value {at}"} for at in range(8)]
    container = {"name": "main", "image": "registry.example/train:1", "command": ["train"], "env": env}
    spec = {"containers": [{**container, "resources": {"limits": _GPUS}}], "restartPolicy": "Never"}
    meta = {"name": name, **_of_job(job)}
    store.create(kinds.POD, {"metadata": meta, "spec": spec}, namespace, manager="kube-controller-manager")
    bind(store, name, namespace, node)
    run(store, name, namespace)


def run(store: Store, name: str, namespace: str = "default") -> None:
    """Let the pod's only container run, as a kubelet tells it."""
    now = instant(store.now())

    def running(pod: Obj) -> None:
        state = {"running": {"startedAt": now}}
        one = {"name": "main", "ready": True, "restartCount": 0, "state": state, "image": "registry.example/train:1"}
        ready = {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        status = pod["status"]
        status |= {"phase": "Running", "startTime": now, "containerStatuses": [one], "podIP": "192.0.2.1"}
        status["conditions"] = [*status["conditions"], ready]

    store.edit(kinds.POD, name, namespace, running, subresource="status", manager="kubelet")


def heartbeats(store: Store) -> Iterator[None]:
    """Change one object at each step, for ever: in turn a node's heartbeat and a pod's annotation."""
    nodes = [node["metadata"]["name"] for node in store.scan(kinds.NODE)]
    pods = [(pod["metadata"]["name"], pod["metadata"]["namespace"]) for pod in store.scan(kinds.POD)]
    for beat in count():
        if beat % 2:
            name, namespace = pods[beat // 2 % len(pods)]
            body = {"metadata": {"annotations": {"example.org/beat": str(beat)}}}
            store.patch(kinds.POD, name, body, namespace, manager="agent")
        else:
            _beat(store, nodes[beat // 2 % len(nodes)], beat)
        yield


def _beat(store: Store, node: str, beat: int) -> None:
    def heard(obj: Obj) -> None:
        for condition in obj["status"]["conditions"]:
            condition["lastHeartbeatTime"] = f"beat {beat}"

    store.edit(kinds.NODE, node, "", heard, subresource="status", manager="kubelet")
