"""What the validating webhooks and CEL rules of the job kinds refuse, in their words (traces ``*/i-mutability``)."""

import json
import re
from collections.abc import Iterator

from . import kinds
from .errors import ApiError, Cause, invalid
from .objects import Obj, copied
from .store import Change

_VOLCANO = 'admission webhook "validatejob.volcano.sh" denied the request: '
_JOB_SET = 'admission webhook "vjobset.kb.io" denied the request: '
_TRAIN_JOB = 'admission webhook "validator.trainjob.trainer.kubeflow.org" denied the request: '
_PYTORCH_JOB = 'admission webhook "validator.pytorchjob.training-operator.kubeflow.org" denied the request: '
_ONLY = "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and "
_GATED = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def admit(change: Change) -> None:
    """Refuse what the webhook of the object's kind refuses."""
    if change.subresource:
        return
    if change.kind is kinds.VOLCANO_JOB:
        _admit_volcano(change)
    elif change.kind is kinds.JOB_SET:
        _admit_job_set(change)
    elif change.kind is kinds.TRAIN_JOB:
        _admit_train_job(change)
    elif change.kind is kinds.PYTORCH_JOB and change.old is None:
        _admit_pytorch_job(change)


def _admit_volcano(change: Change) -> None:
    """400 with an empty reason, whatever is wrong."""
    old, new = (change.old or {}).get("spec"), change.new["spec"]
    tasks = new.get("tasks") or []
    if not tasks:
        raise _volcano_refusal("No task specified in job spec")
    if len({task["name"] for task in tasks}) < len(tasks):
        raise _volcano_refusal("duplicated task name")
    for task in tasks:
        if task["minAvailable"] > task["replicas"]:
            raise _volcano_refusal(f"'minAvailable' must be <= 'replicas' in task: {task['name']}")
    if new["minAvailable"] > sum(task["replicas"] for task in tasks):
        raise _volcano_refusal("job 'minAvailable' must not be greater than total replicas")
    if old is not None and _volcano_rest(old) != _volcano_rest(new):
        raise _volcano_refusal(f"{_ONLY}`PriorityClassName`")


def _volcano_refusal(why: str) -> ApiError:
    return ApiError(400, "", _VOLCANO + why)


def _volcano_rest(spec: Obj) -> Obj:
    rest = {key: value for key, value in spec.items() if key not in {"minAvailable", "priorityClassName", "tasks"}}
    tasks = [
        {key: value for key, value in task.items() if key not in {"replicas", "minAvailable"}} for task in spec["tasks"]
    ]
    return rest | {"tasks": tasks}


def _admit_job_set(change: Change) -> None:
    new = change.new["spec"]
    if change.old is None:
        actions = [rule.get("action") for rule in new.get("failurePolicy", {}).get("rules") or []]
        if any(action in _GATED for action in actions):
            told = f"Internal error: {' and '.join(_GATED)} failure policy actions are not allowed "
            cause = Cause("<nil>", f"{told}when RestartJob feature gate is disabled", "InternalError")
            raise _by_webhook(change, cause)
        return
    old = change.old["spec"]
    for field in ("failurePolicy", "successPolicy", "startupPolicy", "managedBy", "network"):
        if field in old and old.get(field) != new.get(field):
            raise invalid(change.kind, change.name, [Cause(f"spec.{field}", "Invalid value: Value is immutable")])
    loose = bool(old.get("suspend") or new.get("suspend"))
    if _job_set_rest(old, loose=loose) != _job_set_rest(new, loose=loose):
        told = json.dumps(new["replicatedJobs"], separators=(",", ":"))
        raise _by_webhook(change, Cause("spec.replicatedJobs", f"Invalid value: {told}: field is immutable"))


def _by_webhook(change: Change, cause: Cause) -> ApiError:
    refusal = invalid(change.kind, change.name, [cause])
    return ApiError(422, "Invalid", _JOB_SET + refusal.message, refusal.status["details"])


def _job_set_rest(spec: Obj, *, loose: bool) -> list[Obj]:
    """Return the replicated jobs less what may change: scheduling fields of the pods while suspended, not affinity."""
    jobs: list[Obj] = copied({"jobs": spec["replicatedJobs"]})["jobs"]
    for job in jobs if loose else ():
        pod = job["template"]["spec"]["template"]
        for field in ("nodeSelector", "tolerations", "schedulingGates"):
            pod.get("spec", {}).pop(field, None)
        for field in ("labels", "annotations"):
            pod.get("metadata", {}).pop(field, None)
    return jobs


def _admit_train_job(change: Change) -> None:
    if change.old is None:
        return
    old, new = change.old["spec"], change.new["spec"]
    for field in ("trainer", "runtimeRef", "managedBy", "initializer"):
        if old.get(field) != new.get(field):
            value = f"{json.dumps(new[field])}: " if isinstance(new.get(field), str) else ""
            cause = Cause(f"spec.{field}", f"Invalid value: {value}field is immutable")
            raise invalid(change.kind, change.name, [cause])
    if _patches(old) == _patches(new):
        return
    if not (old.get("suspend") or new.get("suspend")):
        told = "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
        raise ApiError(403, "Forbidden", f"{_TRAIN_JOB}spec.runtimePatches: Forbidden: {told}")
    for active in _active_replicated_jobs(change):
        told = f"RuntimePatches cannot be modified when the JobSet's ReplicatedJob {active} is still active"
        raise ApiError(403, "Forbidden", f"{_TRAIN_JOB}spec.runtimePatches: Forbidden: {told}")


def _patches(spec: Obj) -> list[Obj]:
    return [{k: v for k, v in one.items() if k != "time"} for one in spec.get("runtimePatches") or []]


def _active_replicated_jobs(change: Change) -> Iterator[str]:
    job_set = change.store.find(kinds.JOB_SET, change.name, change.new["metadata"]["namespace"])
    for status in (job_set or {}).get("status", {}).get("replicatedJobsStatus") or []:
        if status.get("active"):
            yield status["name"]


def _admit_pytorch_job(change: Change) -> None:
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", change.name) or len(change.name) > 63:
        told = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"
        why = f'metadata.name: Invalid value: "{change.name}": {told}'
        raise ApiError(403, "Forbidden", _PYTORCH_JOB + why)
    for role, replica in (change.new["spec"].get("pytorchReplicaSpecs") or {}).items():
        containers = replica["template"]["spec"].get("containers") or []
        if all(container.get("name") != "pytorch" for container in containers):
            where = f"spec.pytorchReplicaSpecs[{role}].template.spec.containers"
            why = f"{where}: Required value: must have at least one container with name pytorch"
            raise ApiError(403, "Forbidden", _PYTORCH_JOB + why)
