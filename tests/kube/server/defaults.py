"""What the API server and the webhooks of the job kinds fill in: as the samples of the traces show it."""

from typing import Any

from . import kinds
from .objects import Obj, instant
from .store import Change

_CONTAINER: Obj = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
_TEMPLATE_SPEC: Obj = {
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_POD_SPEC: Obj = {
    "restartPolicy": "Always",
    "serviceAccountName": "default",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_TOLERATION_SECONDS = 300


def fill_in(change: Change) -> None:
    """Set what the user left out."""
    if change.subresource:
        return
    if change.kind is kinds.POD:
        _fill_pod(change.new)
        if change.old is None:
            change.new["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    elif change.kind is kinds.NODE:
        _default(change.new, {"spec": {}, "status": {}})
    elif change.kind is kinds.JOB:
        _fill_job(change)
    elif change.kind is kinds.VOLCANO_JOB:
        _fill_volcano_job(change.new["spec"])
    elif change.kind is kinds.JOB_SET:
        _fill_job_set(change.new["spec"])
    elif change.kind is kinds.TRAIN_JOB:
        _fill_train_job(change)
    elif change.kind is kinds.PYTORCH_JOB:
        _default(change.new["spec"].setdefault("runPolicy", {}), {"suspend": False})


def fill_pod_spec(spec: Obj) -> None:
    """Set a pod template's defaults as a native kind stores them."""
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        _default(container, _CONTAINER)
    _default(spec, _TEMPLATE_SPEC)


def _fill_pod(pod: Obj) -> None:
    spec = pod.setdefault("spec", {})
    fill_pod_spec(spec)
    _default(spec, _POD_SPEC)
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for container in spec.get("containers") or []:
        limits = container["resources"].get("limits")
        if limits:
            container["resources"]["requests"] = limits | container["resources"].get("requests", {})
    tolerations = spec.setdefault("tolerations", [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_tolerates(one, key) for one in tolerations):
            end = {"effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}
            tolerations.append({"key": key, "operator": "Exists", **end})


def _tolerates(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in {None, "", key} and toleration.get("effect") in {None, "", "NoExecute"}


def _fill_job(change: Change) -> None:
    spec, meta = change.new["spec"], change.new["metadata"]
    ends = {"completionMode": "NonIndexed", "suspend": False, "podReplacementPolicy": "TerminatingOrFailed"}
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    _default(spec, {"parallelism": 1, "backoffLimit": 6, "manualSelector": False} | ends)
    if "podFailurePolicy" in spec:
        spec["podReplacementPolicy"] = "Failed"
    template = spec.setdefault("template", {})
    fill_pod_spec(template.setdefault("spec", {}))
    if change.old is not None:
        return
    uid, name = meta["uid"], meta["name"]
    labels = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name}
    labels |= {"controller-uid": uid, "job-name": name}
    meta["labels"] = meta.get("labels") or template.get("metadata", {}).get("labels") or {}
    meta["labels"] = meta["labels"] | labels
    inner = template.setdefault("metadata", {})
    inner["labels"] = (inner.get("labels") or {}) | labels
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def _fill_volcano_job(spec: Obj) -> None:
    _default(spec, {"maxRetry": 3, "queue": "default", "schedulerName": "volcano"})
    for at, task in enumerate(spec.get("tasks") or []):
        _default(task, {"name": f"default{at}", "replicas": 1, "maxRetry": 3})
        task.setdefault("minAvailable", task["replicas"])
        task.get("template", {}).setdefault("metadata", {})
    spec.setdefault("minAvailable", sum(task["minAvailable"] for task in spec.get("tasks") or []))


def _fill_job_set(spec: Obj) -> None:
    policies = {"successPolicy": {"operator": "All"}, "startupPolicy": {"startupPolicyOrder": "AnyOrder"}}
    _default(spec, {"network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True}} | policies)
    for replicated in spec.get("replicatedJobs") or []:
        _default(replicated, {"groupName": "default", "replicas": 1})
        template = replicated["template"]
        _default(template, {"metadata": {}})
        _default(template["spec"], {"completionMode": "Indexed"})
        pod = template["spec"].setdefault("template", {})
        _default(pod, {"metadata": {}})
        pod.get("spec", {}).setdefault("restartPolicy", "OnFailure")
    if "failurePolicy" in spec:
        _default(spec["failurePolicy"], {"maxRestarts": 0, "restartStrategy": "Recreate"})


def _fill_train_job(change: Change) -> None:
    spec = change.new["spec"]
    _default(spec, {"managedBy": "trainer.kubeflow.org/trainjob-controller", "suspend": False})
    _default(spec.setdefault("runtimeRef", {}), {"apiGroup": kinds.TRAIN_JOB.group, "kind": "ClusterTrainingRuntime"})
    old = {one["manager"]: one for one in (change.old or {"spec": {}})["spec"].get("runtimePatches") or []}
    for patch in spec.get("runtimePatches") or []:
        was = old.get(patch["manager"])
        if was is not None and was["trainingRuntimeSpec"] == patch.get("trainingRuntimeSpec"):
            patch["time"] = was["time"]
        else:
            patch["time"] = instant(change.store.now())


def _default(target: Obj, values: dict[str, Any]) -> None:
    for key, value in values.items():
        if key not in target:
            target[key] = dict(value) if isinstance(value, dict) else value
