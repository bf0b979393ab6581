"""What controllers read and write in pods, and conditions, which all kinds have in the same shape."""

from collections.abc import Iterable
from datetime import datetime

from ..server.objects import Obj, instant

TERMINAL = frozenset({"Failed", "Succeeded"})
_GPU = "nvidia.com/gpu"


def phase(pod: Obj) -> str:
    """Return the phase; a pod that nobody reported on is Pending."""
    found: str = pod.get("status", {}).get("phase", "Pending")
    return found


def terminating(obj: Obj) -> bool:
    """Tell whether a delete is under way."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def finished(pod: Obj) -> bool:
    """Tell whether the pod's containers are over for good."""
    return phase(pod) in TERMINAL


def node_of(pod: Obj) -> str:
    """Return the node's name, empty while the pod is not bound."""
    found: str = pod["spec"].get("nodeName") or ""
    return found


def condition(obj: Obj, kind: str) -> Obj | None:
    """Return the condition of this type."""
    return next((one for one in obj.get("status", {}).get("conditions") or () if one["type"] == kind), None)


def holds(obj: Obj, kind: str) -> bool:
    """Tell whether the condition is True."""
    found = condition(obj, kind)
    return found is not None and found["status"] == "True"


def ready(pod: Obj) -> bool:
    """Tell whether the pod counts as ready."""
    return holds(pod, "Ready")


def set_condition(obj: Obj, kind: str, status: str, *, reason: str = "", message: str = "", now: datetime) -> bool:
    """Put the condition into the object's status; tell whether anything changed."""
    conditions = obj.setdefault("status", {}).setdefault("conditions", [])
    found = next((one for one in conditions if one["type"] == kind), None)
    told = {"type": kind, "status": status} | ({"reason": reason} if reason else {})
    told |= {"message": message} if message else {}
    if found is None:
        conditions.append({**told, "lastProbeTime": None, "lastTransitionTime": instant(now)})
        return True
    before = {key: found[key] for key in ("type", "status", "reason", "message") if found.get(key)}
    if before == told:
        return False
    since = found.get("lastTransitionTime") if found["status"] == status else instant(now)
    found.clear()
    found.update(told, lastProbeTime=None, lastTransitionTime=since)
    return True


def exit_codes(pod: Obj) -> list[int]:
    """Return the exit codes of the containers that ended."""
    states = (one.get("state", {}).get("terminated") for one in pod.get("status", {}).get("containerStatuses") or ())
    return [state["exitCode"] for state in states if state]


def requests(pod: Obj) -> dict[str, int]:
    """Return what the pod asks of a node: extended resources, and the pod itself."""
    asked = {"pods": 1}
    for one in pod["spec"].get("containers") or ():
        resources = one.get("resources") or {}
        for name, amount in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
            if "/" in name:
                asked[name] = asked.get(name, 0) + int(amount)
    return asked


def owner_ref(owner: Obj) -> Obj:
    """Return the controller reference to ``owner``."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def by_name(objects: Iterable[Obj]) -> list[Obj]:
    """Sort by name, which makes runs repeatable."""
    return sorted(objects, key=lambda obj: (obj["metadata"]["name"], obj["metadata"]["uid"]))
