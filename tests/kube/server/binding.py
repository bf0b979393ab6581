"""The binding subresource: gives a pod its node, once."""

from .errors import ApiError
from .kinds import POD
from .objects import Obj, instant
from .store import Store


def bind(store: Store, name: str, namespace: str, node: str, *, manager: str = "kube-scheduler") -> Obj:
    """Put the pod on the node and return the pod. Raises ApiError (404, 409)."""
    pod = store.get(POD, name, namespace)
    if held := pod["spec"].get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{held}"')
    if "deletionTimestamp" in pod["metadata"]:
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    condition["lastTransitionTime"] = instant(store.now())
    pod["spec"]["nodeName"] = node
    others = [one for one in pod["status"].get("conditions") or [] if one["type"] != "PodScheduled"]
    pod["status"]["conditions"] = [*others, condition]
    return store.update(POD, pod, subresource="binding", manager=manager)


def _refused(name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on pods/binding "{name}": {why}'
    return ApiError(409, "Conflict", message, {"name": name, "kind": "pods/binding"})
