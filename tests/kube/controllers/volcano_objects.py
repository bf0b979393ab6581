"""What a Volcano job makes: its pods, its pod group, its service."""

from ..server.objects import Obj, copied
from .pods import owner_ref
from .volcano_request import GROUP, INDEX, RETRIES, TASK, VERSION


def pod_name(job: Obj, task: Obj, index: int) -> str:
    """Return the name of one replica of a task."""
    return f"{job['metadata']['name']}-{task['name']}-{index}"


def pod_of(job: Obj, task: Obj, index: int) -> Obj:
    """Return the pod of one replica of a task."""
    template = copied(task["template"])
    meta, spec, status = template.get("metadata") or {}, template["spec"], job["status"]
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    told = {
        "volcano.sh/job-name": name,
        "volcano.sh/queue-name": job["spec"]["queue"],
        INDEX: str(index),
        TASK: task["name"],
    }
    marks = {
        GROUP: f"{name}-{job['metadata']['uid']}",
        RETRIES: str(status.get("retryCount", 0)),
        VERSION: str(status.get("version", 0)),
        "volcano.sh/template-uid": f"{name}-{task['name']}",
    }
    spec["schedulerName"] = job["spec"]["schedulerName"]
    spec.setdefault("hostname", pod_name(job, task, index))
    spec.setdefault("subdomain", name)
    for container in spec["containers"]:
        env = [{"name": key, "value": str(index)} for key in ("VK_TASK_INDEX", "VC_TASK_INDEX")]
        container["env"] = [*(container.get("env") or ()), *env]
    return {
        "metadata": {
            "name": pod_name(job, task, index),
            "namespace": namespace,
            "labels": {**(meta.get("labels") or {}), **told, "volcano.sh/job-namespace": namespace},
            "annotations": {**(meta.get("annotations") or {}), **told, **marks},
            "ownerReferences": [owner_ref(job)],
        },
        "spec": spec,
    }


def group_of(job: Obj) -> Obj:
    """Return the job's pod group."""
    spec = job["spec"]
    return {
        "metadata": {
            "name": f"{job['metadata']['name']}-{job['metadata']['uid']}",
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [owner_ref(job)],
        },
        "spec": {
            "minMember": spec["minAvailable"],
            "minTaskMember": {task["name"]: task["minAvailable"] for task in spec["tasks"]},
            "queue": spec["queue"],
        },
        "status": {"phase": "Pending"},
    }


def service_of(job: Obj) -> Obj:
    """Return the headless service of the svc plugin."""
    name = job["metadata"]["name"]
    return {
        "metadata": {
            "name": name,
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [owner_ref(job)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"volcano.sh/job-name": name, "volcano.sh/job-namespace": job["metadata"]["namespace"]},
        },
    }
