"""The eviction subresource: deletes a pod if its disruption budget allows.

Read from pkg/registry/core/pod/storage/eviction.go; answers as in the traces ``*/g-evict-*``.
"""

from .deletion import DeleteOptions, check_preconditions
from .errors import ApiError
from .kinds import PDB, POD
from .objects import Obj, instant, labels_of
from .selectors import matches
from .store import Store

SUCCESS: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(store: Store, name: str, namespace: str, body: Obj) -> Obj:
    """Evict a pod and return the Status. Raises ApiError (404, 409, 429, 500)."""
    options = DeleteOptions.read(body.get("deleteOptions") or {})
    pod = store.get(POD, name, namespace)
    if not _ended_or_ending(pod):
        _ask_budget(store, pod, options)
    check_preconditions(POD, pod, options)
    if not options.dry_run:
        _mark_disrupted(store, name, namespace)
    store.delete(POD, name, namespace, options)
    return SUCCESS


def _ended_or_ending(pod: Obj) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase in {"Failed", "Succeeded", "Pending"} or "deletionTimestamp" in pod["metadata"]


def _ask_budget(store: Store, pod: Obj, options: DeleteOptions) -> None:
    """Take one disruption from the pod's budget."""
    meta = pod["metadata"]
    budgets = [one for one in store.list(PDB, meta["namespace"]) if matches(one["spec"]["selector"], labels_of(pod))]
    if len(budgets) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "InternalError", text)
    if not budgets:
        return
    budget = budgets[0]
    name, status = budget["metadata"]["name"], budget.get("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        raise _refused(f"The disruption budget {name} is still being processed by the server.", retry_after=10)
    healthy, needed = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if not _ready(pod) and _unready_may_go(budget, healthy, needed):
        return
    if status.get("disruptionsAllowed", 0) <= 0:
        raise _refused(f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently")
    if options.dry_run:
        return
    status["disruptionsAllowed"] -= 1
    status.setdefault("disruptedPods", {})[meta["name"]] = instant(store.now())
    store.update(PDB, budget, subresource="status", manager="kube-apiserver")


def _unready_may_go(budget: Obj, healthy: int, needed: int) -> bool:
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    return healthy >= needed > 0


def _refused(why: str, *, retry_after: int | None = None) -> ApiError:
    details: Obj = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    return ApiError(429, "TooManyRequests", _VIOLATED, details)


def _ready(pod: Obj) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _mark_disrupted(store: Store, name: str, namespace: str) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": None,
        "lastTransitionTime": instant(store.now()),
    }

    def add(pod: Obj) -> None:
        conditions = pod["status"].setdefault("conditions", [])
        pod["status"]["conditions"] = [one for one in conditions if one["type"] != "DisruptionTarget"] + [condition]

    store.edit(POD, name, namespace, add, subresource="status", manager="kube-apiserver")
