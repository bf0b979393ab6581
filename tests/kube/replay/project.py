"""Shows an object of the store as the traces show it: the fields that matter, by the traces' names."""

from collections.abc import Callable

from ..server import kinds
from ..server.kinds import Kind
from ..server.objects import Obj, controller_of, owners_of

WATCHED: dict[Kind, str] = {
    kinds.POD: "Pod",
    kinds.NODE: "Node",
    kinds.SERVICE: "Service",
    kinds.PDB: "PodDisruptionBudget",
    kinds.JOB: "Job.batch",
    kinds.JOB_SET: "JobSet",
    kinds.TRAIN_JOB: "TrainJob",
    kinds.PYTORCH_JOB: "PyTorchJob",
    kinds.VOLCANO_JOB: "Job.batch.volcano.sh",
    kinds.VOLCANO_COMMAND: "Command",
    kinds.POD_GROUP: "PodGroup",
}
"""The kinds that a trace tells of, and its names for them."""

_TOLD_ANNOTATIONS = (
    "fake.kubelet/exit-code",
    "fake.kubelet/term-after",
    "scheduling.k8s.io/group-name",
    "volcano.sh/job-retry-count",
    "volcano.sh/job-version",
)
_TOLD_POD_CONDITIONS = {"Ready", "PodScheduled", "DisruptionTarget"}
_TOLD_MESSAGES = {"Failed", "FailureTarget", "Restarting"}


def project(kind: Kind, obj: Obj) -> Obj:
    """Return the fields; empty ones are left out."""
    fields = _common(kind, obj) | _FIELDS[kind](obj)
    return {key: value for key, value in fields.items() if value is not None and not _is_empty(value)}


def _is_empty(value: object) -> bool:
    return isinstance(value, dict | list) and not value


def _common(kind: Kind, obj: Obj) -> Obj:
    meta = obj["metadata"]
    owner = controller_of(obj) or next(iter(owners_of(obj)), None)
    dying = "deletionTimestamp" in meta
    return {
        "generation": None if kind in {kinds.POD, kinds.NODE, kinds.SERVICE} else meta.get("generation"),
        "owner": None if owner is None else f"{owner['kind']}/{owner['name']}",
        "deletionTimestamp": dying or None,
        "grace": meta.get("deletionGracePeriodSeconds") if dying else None,
        "finalizers": meta.get("finalizers"),
    }


def _pod(pod: Obj) -> Obj:
    spec, status, meta = pod["spec"], pod.get("status", {}), pod["metadata"]
    annotations = meta.get("annotations") or {}
    return {
        "phase": status.get("phase"),
        "node": spec.get("nodeName"),
        "conditions": _conditions(status, only=_TOLD_POD_CONDITIONS),
        "containers": [_container(one) for one in status.get("containerStatuses") or ()],
        "annotations": {key: annotations[key] for key in _TOLD_ANNOTATIONS if key in annotations},
        "nodeSelector": {key: value for key, value in (spec.get("nodeSelector") or {}).items() if key != "pool"},
        "affinity": spec.get("affinity"),
    }


def _container(one: Obj) -> Obj | str:
    ended = one.get("state", {}).get("terminated")
    return "running" if ended is None else {"terminated": {"exitCode": ended["exitCode"], "reason": ended["reason"]}}


def _node(node: Obj) -> Obj:
    taints = node["spec"].get("taints") or ()
    told = [f"{one['key']}{'=' + one['value'] if one.get('value') else ''}:{one['effect']}" for one in taints]
    return {"unschedulable": node["spec"].get("unschedulable", False), "taints": sorted(told)}


def _job(job: Obj) -> Obj:
    spec, status = job["spec"], job.get("status", {})
    uncounted = {key: len(uids) for key, uids in (status.get("uncountedTerminatedPods") or {}).items() if uids}
    counts = ("active", "ready", "terminating", "failed", "succeeded")
    asked = ("suspend", "parallelism", "completions", "backoffLimit", "podReplacementPolicy")
    return {
        **{key: spec.get(key) for key in asked},
        **{key: status.get(key) for key in counts},
        "uncounted": uncounted,
        "startTime": "startTime" in status or None,
        "conditions": _conditions(status),
        "messages": _messages(status),
    }


def _job_set(job_set: Obj) -> Obj:
    status = job_set.get("status", {})
    told = ("restarts", "restartsCountTowardsMax", "terminalState")
    return {
        **{key: status.get(key) for key in told},
        "suspend": job_set["spec"].get("suspend"),
        "replicatedJobsStatus": sorted(status.get("replicatedJobsStatus") or (), key=lambda one: str(one["name"])),
        "conditions": _conditions(status),
        "messages": _messages(status),
    }


def _train_job(job: Obj) -> Obj:
    spec, status = job["spec"], job.get("status", {})
    return {
        "suspend": spec.get("suspend"),
        "patchManagers": [one["manager"] for one in spec.get("runtimePatches") or ()],
        "jobsStatus": status.get("jobsStatus"),
        "conditions": _conditions(status),
        "messages": _messages(status),
    }


def _pytorch_job(job: Obj) -> Obj:
    status = job.get("status", {})
    replicas = status.get("replicaStatuses") or {}
    return {
        "suspend": job["spec"].get("runPolicy", {}).get("suspend"),
        "replicaStatuses": {
            role: {key: count for key, count in one.items() if isinstance(count, int)} for role, one in replicas.items()
        },
        "startTime": "startTime" in status or None,
        "completionTime": "completionTime" in status or None,
        "conditions": _conditions(status),
        "messages": _messages(status),
    }


def _volcano_job(job: Obj) -> Obj:
    spec, status = job["spec"], job.get("status", {})
    counts = ("pending", "running", "succeeded", "failed", "terminating", "unknown", "version", "retryCount")
    state = status.get("state") or {}
    return {
        **{key: status.get(key) or None for key in counts},
        "maxRetry": spec.get("maxRetry"),
        "replicas": [task["replicas"] for task in spec["tasks"]],
        "minAvailable": status.get("minAvailable"),
        "state": {"phase": state["phase"]} if state.get("phase") else None,
        "taskStatusCount": status.get("taskStatusCount"),
    }


def _command(command: Obj) -> Obj:
    return {"action": command.get("action"), "target": {"kind": command["target"]["kind"]}}


def _pod_group(group: Obj) -> Obj:
    status = group.get("status", {})
    return {
        "minMember": group["spec"].get("minMember"),
        "phase": status.get("phase"),
        "running": status.get("running"),
        "conditions": _conditions(status),
    }


def _budget(budget: Obj) -> Obj:
    status = budget.get("status", {})
    counts = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    return {
        "spec": {key: value for key, value in budget["spec"].items() if key != "selector"},
        "status": {key: status.get(key, 0) for key in counts},
        "conditions": _conditions(status),
    }


def _service(service: Obj) -> Obj:
    return {"clusterIP": service["spec"].get("clusterIP")}


def _conditions(status: Obj, *, only: set[str] | None = None) -> Obj:
    return {
        one["type"]: f"{one['status']}/{one['reason']}" if one.get("reason") else one["status"]
        for one in status.get("conditions") or ()
        if only is None or one["type"] in only
    }


def _messages(status: Obj) -> Obj:
    return {
        one["type"]: one["message"]
        for one in status.get("conditions") or ()
        if one["type"] in _TOLD_MESSAGES and one["status"] == "True"
    }


_FIELDS: dict[Kind, Callable[[Obj], Obj]] = {
    kinds.POD: _pod,
    kinds.NODE: _node,
    kinds.SERVICE: _service,
    kinds.PDB: _budget,
    kinds.JOB: _job,
    kinds.JOB_SET: _job_set,
    kinds.TRAIN_JOB: _train_job,
    kinds.PYTORCH_JOB: _pytorch_job,
    kinds.VOLCANO_JOB: _volcano_job,
    kinds.VOLCANO_COMMAND: _command,
    kinds.POD_GROUP: _pod_group,
}
