"""The part of an object's state that must be the same in a trace and in the double."""

import re
from collections.abc import Callable

from ..server.objects import Obj

_IGNORED = {"labels", "clusterIP", "controlledResources", "uncounted"}
_RISING = {"Aborting", "Aborted", "Completed", "Failed", "Terminated"}
"""Phases of a Volcano job in which its version goes on rising with each event that comes late."""

_COUNTS = ("pending", "running", "failed", "succeeded", "terminating", "version", "retryCount")
_TOLD_MESSAGES = {"Failed", "FailureTarget", "Restarting"}


def comparable(kind: str, state: Obj) -> Obj:
    """Return it: no empty fields, times as there or not, lists in order, random names blotted out."""
    told = {key: value for key, value in state.items() if key not in _IGNORED and not _is_empty(value)}
    for key in {"startTime", "completionTime"} & told.keys():
        told[key] = True
    if "replicatedJobsStatus" in told:
        told["replicatedJobsStatus"] = sorted(told["replicatedJobsStatus"], key=lambda one: str(one["name"]))
    if "messages" in told:
        told["messages"] = {
            key: re.sub(r"-[a-z0-9]{5}(?= |$)", "-*", text)
            for key, text in told["messages"].items()
            if key in _TOLD_MESSAGES
        }
    trim = _TRIM.get(kind)
    if trim is not None:
        trim(told)
    return told


def _is_empty(value: object) -> bool:
    return value is False or (isinstance(value, dict | list) and not value)


def _pod(told: Obj) -> None:
    """Leave out messages, which count other scenarios' nodes, and the node, which is chance."""
    for key in ("messages", "node"):
        told.pop(key, None)
    annotations = {key: text for key, text in told.pop("annotations", {}).items() if "group-name" not in key}
    if annotations:
        told["annotations"] = annotations


def _pod_group(told: Obj) -> None:
    """Leave out how often sessions wrote, and conditions that stay when they are no longer true."""
    for key in ("messages", "generation", "failed"):
        told.pop(key, None)
    if told.get("phase") == "Running":
        told.pop("conditions", None)


def _volcano_job(told: Obj) -> None:
    for key in ("messages", "conditions"):
        told.pop(key, None)
    if told.get("state", {}).get("phase") in _RISING:
        told.pop("version", None)
    for key in _COUNTS:
        if not told.get(key):
            told.pop(key, None)


def _node(told: Obj) -> None:
    told.pop("conditions", None)
    told["taints"] = sorted(told.get("taints", []))


def _command(told: Obj) -> None:
    for key in ("target", "owner"):
        told.pop(key, None)


_TRIM: dict[str, Callable[[Obj], None]] = {
    "Pod": _pod,
    "PodGroup": _pod_group,
    "Job.batch.volcano.sh": _volcano_job,
    "Node": _node,
    "Command": _command,
}
