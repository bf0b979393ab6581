"""What the Volcano job controller is asked to do, and what a job's own policies make of an event.

Rules from volcano pkg/controllers/job/{job_controller_handler.go,job_controller_util.go}; deletes and versions as seen
in the traces: PodEvicted fires when the object is gone, PodFailed also for a pod that fails while it is deleted.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from ..server.objects import Obj
from ..server.store import EventType
from .cluster import Change
from .pods import exit_codes, phase

VERSION = "volcano.sh/job-version"
RETRIES = "volcano.sh/job-retry-count"
TASK = "volcano.sh/task-spec"
INDEX = "volcano.sh/task-index"
GROUP = "scheduling.k8s.io/group-name"


class Action(StrEnum):
    """What may be done to a job; an unknown word in a Command is only a sync."""

    SYNC = "SyncJob"
    ENQUEUE = "EnqueueJob"
    ABORT = "AbortJob"
    RESTART = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE = "TerminateJob"
    COMPLETE = "CompleteJob"
    RESUME = "ResumeJob"


TARGETED = {Action.RESTART_TASK, Action.RESTART_POD, Action.RESTART_PARTITION}


@dataclass(frozen=True)
class Request:
    """One entry of the work queue; equal ones are one."""

    event: str = "OutOfSync"
    action: Action | None = None
    task: str = ""
    pod: str = ""
    exit_code: int = 0
    version: int = 0
    retries: int = 0


def of_pod(change: Change) -> Request | None:
    """Return what a pod's change asks for; the two events of an end are one here, as they come at one instant."""
    pod = change.object
    meta = pod["metadata"]
    annotations = meta.get("annotations") or {}
    base = Request(
        task=annotations.get(TASK, ""),
        pod=meta["name"],
        version=int(annotations.get(VERSION, "0")),
        retries=int(annotations.get(RETRIES, "0")),
    )
    if change.type is EventType.DELETED:
        return replace(base, event="PodEvicted")
    if meta.get("deletionGracePeriodSeconds") == 0:
        return None
    if change.was is not None and phase(change.was) != "Failed" and phase(pod) == "Failed":
        return replace(base, event="PodFailed", exit_code=next(iter(exit_codes(pod)), 0))
    return base


def decide(job: Obj, request: Request) -> Action:
    """Return the action: asked for, or by the first policy that takes the event, the task's before the job's."""
    if request.action is not None:
        return request.action
    status = job.get("status", {})
    old = request.version < status.get("version", 0) or request.retries < status.get("retryCount", 0)
    if request.event in {"OutOfSync", "Unknown"} or old:
        return Action.SYNC
    tasks = [task for task in job["spec"]["tasks"] if task["name"] == request.task]
    for policies in [*(task.get("policies") or () for task in tasks), job["spec"].get("policies") or ()]:
        found = _first(policies, request)
        if found is not None:
            return found
    return Action.SYNC


def _first(policies: Iterable[Obj], request: Request) -> Action | None:
    for policy in policies:
        events = [*(policy.get("events") or ()), *([policy["event"]] if policy.get("event") else ())]
        if request.event in events or "*" in events:
            return Action(policy["action"])
        if policy.get("exitCode") and policy["exitCode"] == request.exit_code and request.event == "PodFailed":
            return Action(policy["action"])
    return None
