"""The conditions of a PyTorchJob, with the training operator's rules of which excludes which (pkg/util/status.go)."""

from datetime import datetime

from ..server.objects import Obj, instant

_ENDS = {"Failed", "Succeeded"}
_RIVALS = {"Running": "Restarting", "Restarting": "Running"}


def put_condition(status: Obj, kind: str, value: str, *, reason: str, message: str, now: datetime) -> None:
    """Put a condition: Running and Restarting exclude each other, an end turns Running False; ended stays ended."""
    conditions = status.setdefault("conditions", [])
    if any(one["type"] in _ENDS and one["status"] == "True" for one in conditions):
        return
    if any((one["type"], one["status"], one["reason"]) == (kind, value, reason) for one in conditions):
        return
    kept = [one for one in conditions if one["type"] not in {kind, _RIVALS.get(kind)}]
    for one in kept:
        if kind in _ENDS and one["type"] == "Running":
            one["status"] = "False"
    times = {"lastTransitionTime": instant(now), "lastUpdateTime": instant(now)}
    status["conditions"] = [*kept, {"type": kind, "status": value, "reason": reason, "message": message, **times}]
