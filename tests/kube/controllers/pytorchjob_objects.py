"""What a PyTorchJob makes: a pod and a service per replica, with what torchrun reads from the environment."""

from ..server.objects import Obj, copied
from .pods import owner_ref

OPERATOR = "pytorchjob-controller"
LABEL = "training.kubeflow.org/"
_PORT = 23456


def roles_of(job: Obj) -> dict[str, Obj]:
    roles: dict[str, Obj] = job["spec"]["pytorchReplicaSpecs"]
    return roles


def selector(name: str, role: str) -> str:
    """Return the label selector that replicaStatuses name."""
    labels = {"job-name": name, "operator-name": OPERATOR, "replica-type": role.lower()}
    return ",".join(f"{LABEL}{key}={value}" for key, value in labels.items())


def _labels(job: Obj, role: str, index: int) -> dict[str, str]:
    labels = {"job-name": job["metadata"]["name"], "operator-name": OPERATOR}
    labels |= {"replica-index": str(index), "replica-type": role.lower()}
    if role == "Master":
        labels["job-role"] = "master"
    return {f"{LABEL}{key}": value for key, value in labels.items()}


def pod_of(job: Obj, role: str, replica: Obj, index: int) -> Obj:
    """Return the pod of one replica."""
    template = copied(replica["template"])
    meta, spec, name = template.get("metadata") or {}, template["spec"], job["metadata"]["name"]
    policy = replica.get("restartPolicy", "Never")
    spec["restartPolicy"] = "Never" if policy == "ExitCode" else policy
    for container in spec["containers"]:
        if container["name"] == "pytorch":
            container["env"] = [*(container.get("env") or ()), *_environment(job, role, index)]
    return {
        "metadata": {
            "name": f"{name}-{role.lower()}-{index}",
            "namespace": job["metadata"]["namespace"],
            "labels": {**(meta.get("labels") or {}), **_labels(job, role, index)},
            "annotations": meta.get("annotations") or {},
            "ownerReferences": [owner_ref(job)],
        },
        "spec": spec,
    }


def _environment(job: Obj, role: str, index: int) -> list[Obj]:
    """Return what torchrun reads, as in samples/pytorchjob-pod-running."""
    roles = roles_of(job)
    nodes = sum(replica.get("replicas", 1) for replica in roles.values())
    rank = index if role == "Master" or "Master" not in roles else index + roles["Master"].get("replicas", 1)
    first = f"{job['metadata']['name']}-{'master' if 'Master' in roles else 'worker'}-0"
    told = {"PYTHONUNBUFFERED": "1", "MASTER_PORT": _PORT, "PET_MASTER_PORT": _PORT}
    told |= {"MASTER_ADDR": first, "PET_MASTER_ADDR": first, "WORLD_SIZE": nodes, "RANK": rank}
    told |= {"PET_NODE_RANK": rank, "PET_NPROC_PER_NODE": job["spec"].get("nprocPerNode", "auto"), "PET_NNODES": nodes}
    return [{"name": name, "value": str(value)} for name, value in told.items()]


def service_of(job: Obj, role: str, index: int) -> Obj:
    """Return the service that bears the pod's name."""
    labels = _labels(job, role, index)
    return {
        "metadata": {
            "name": f"{job['metadata']['name']}-{role.lower()}-{index}",
            "namespace": job["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [owner_ref(job)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": labels,
            "ports": [{"name": "pytorchjob-port", "port": _PORT}],
        },
    }
