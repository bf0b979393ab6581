"""What a Job's own podFailurePolicy and podReplacementPolicy say of its pods."""

from collections.abc import Iterable

from ..server.objects import Obj
from .pods import condition, phase


def only_failed_replaced(job: Obj) -> bool:
    """Tell whether a pod that still terminates holds its index."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or bool(spec.get("podFailurePolicy"))


def failure_to_stop_for(job: Obj, failed: Iterable[Obj]) -> str | None:
    """Return the message of the first pod that a FailJob rule takes."""
    for pod in failed:
        if phase(pod) == "Failed" and (found := _rule_for(job, pod)) is not None:
            number, rule, told = found
            if rule["action"] == "FailJob":
                return f"{told} matching FailJob rule at index {number}"
    return None


def ignored(job: Obj, pod: Obj) -> bool:
    """Tell whether an Ignore rule takes the pod out of the count."""
    found = _rule_for(job, pod)
    return found is not None and found[1]["action"] == "Ignore"


def _rule_for(job: Obj, pod: Obj) -> tuple[int, Obj, str] | None:
    """Return the first rule that matches: its number, itself, what it matched."""
    where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    for number, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
        if "onExitCodes" in rule:
            for name, code in _ended(pod, rule["onExitCodes"].get("containerName")):
                if (code in rule["onExitCodes"]["values"]) is (rule["onExitCodes"]["operator"] == "In"):
                    return number, rule, f"Container {name} for pod {where} failed with exit code {code}"
        for pattern in rule.get("onPodConditions") or ():
            found = condition(pod, pattern["type"])
            if found is not None and found["status"] == pattern.get("status", "True"):
                return number, rule, f"Pod {where} has condition {pattern['type']}"
    return None


def _ended(pod: Obj, only: str | None) -> Iterable[tuple[str, int]]:
    for one in pod["status"].get("containerStatuses") or ():
        state = one.get("state", {}).get("terminated")
        if state and state["exitCode"] and only in {None, one["name"]}:
            yield one["name"], state["exitCode"]
