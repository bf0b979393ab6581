"""The status that a kubelet writes of a pod: phase, conditions and containers, in the fields of a real one."""

import hashlib
from datetime import datetime

from ..controllers.pods import condition, set_condition
from ..server.objects import Obj, instant
from .lifecycle import failed_to_begin, is_over
from .states import Container, Containers, End, Shown, Why

_CREATING = Why("ContainerCreating")
_INITIALIZING = Why("PodInitializing")


def tell(status: Obj, pod: Obj, containers: Containers, shown: Shown, now: datetime) -> None:
    """Bring a pod's status up to date; conditions that others own stay."""
    status["phase"] = phase(pod, containers)
    status["hostIP"] = shown.host_ip
    status["hostIPs"] = [{"ip": shown.host_ip}]
    status["startTime"] = instant(shown.since)
    if shown.sandbox:
        status["podIP"] = shown.pod_ip
        status["podIPs"] = [{"ip": shown.pod_ip}]
    if containers.inits:
        status["initContainerStatuses"] = [_container(one, containers, pod) for one in containers.inits]
    status["containerStatuses"] = [_container(one, containers, pod) for one in containers.mains]
    _tell_conditions(status, containers, shown, now)


def phase(pod: Obj, containers: Containers) -> str:
    """Return the phase (getPhase of kubelet_pods.go); it ends only when every container has (KEP-3329)."""
    before: str = pod.get("status", {}).get("phase") or "Pending"
    if is_over(pod, containers):
        ends = [one.end for one in containers.mains]
        well = not failed_to_begin(pod, containers) and all(end is not None and end.code == 0 for end in ends)
        return "Succeeded" if well else "Failed"
    if not initialized(containers) or any(not one.begun for one in containers.mains):
        return before if before == "Running" else "Pending"
    return "Running"


def initialized(containers: Containers) -> bool:
    """Tell whether the init containers have done their work and the sidecars have begun."""
    done = [one.begun if one.sidecar else one.end is not None and one.end.code == 0 for one in containers.inits]
    return all(done)


def _tell_conditions(status: Obj, containers: Containers, shown: Shown, now: datetime) -> None:
    holder = {"status": status}
    ended = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(status["phase"], "")
    set_condition(holder, "PodReadyToStartContainers", str(shown.sandbox and not ended), now=now)
    undone = [one.name for one in containers.inits if not (one.begun if one.sidecar else _well(one))]
    if undone and status["phase"] != "Succeeded":
        told = f"containers with incomplete status: {_listed(undone)}"
        reason = "ContainersNotInitialized"
        set_condition(holder, "Initialized", "False", reason=reason, message=told, now=now)
    else:
        done = "PodCompleted" if status["phase"] == "Succeeded" else ""
        set_condition(holder, "Initialized", "True", reason=done, now=now)
    unready = [one.name for one in [*containers.sidecars, *containers.mains] if one.running is None]
    for kind in ("Ready", "ContainersReady"):
        if ended:
            set_condition(holder, kind, "False", reason=ended, now=now)
        elif unready:
            told = f"containers with unready status: {_listed(unready)}"
            set_condition(holder, kind, "False", reason="ContainersNotReady", message=told, now=now)
        else:
            set_condition(holder, kind, "True", now=now)
    if condition(holder, "PodScheduled") is None:
        set_condition(holder, "PodScheduled", "True", now=now)


def _listed(names: list[str]) -> str:
    return f"[{' '.join(names)}]"


def _well(one: Container) -> bool:
    return one.end is not None and one.end.code == 0


def _container(one: Container, containers: Containers, pod: Obj) -> Obj:
    last = one.end if _crash_loops(one) else one.last
    told: Obj = {
        "name": one.name,
        "state": _state(one, containers, pod),
        "lastState": {} if last is None else {"terminated": _end(one, last, pod)},
        "ready": one.running is not None or (one.first and not one.sidecar and _well(one)),
        "restartCount": one.restarts,
        "image": one.spec["image"],
        "imageID": f"{one.spec['image']}@sha256:{'0' * 64}" if one.pulled else "",
        "started": one.running is not None,
    }
    if one.begun:
        told["containerID"] = _id(one, pod, one.restarts)
    return told


def _crash_loops(one: Container) -> bool:
    return one.end is not None and one.why is not None and one.why.reason == "CrashLoopBackOff"


def _state(one: Container, containers: Containers, pod: Obj) -> Obj:
    if one.end is not None and not _crash_loops(one):
        return {"terminated": _end(one, one.end, pod)}
    if one.running is not None:
        return {"running": {"startedAt": instant(one.running)}}
    why = one.why
    if why is None:
        why = _CREATING if one.first or not containers.inits else _INITIALIZING
    return {"waiting": {"reason": why.reason} | ({"message": why.message} if why.message else {})}


def _end(one: Container, end: End, pod: Obj) -> Obj:
    told: Obj = {"exitCode": end.code, "reason": end.reason}
    told |= {"message": end.message} if end.message else {}
    started = None if end.started is None else instant(end.started)
    return told | {"startedAt": started, "finishedAt": instant(end.finished), "containerID": _id(one, pod, end.start)}


def _id(one: Container, pod: Obj, start: int) -> str:
    text = f"{pod['metadata']['uid']}/{one.name}/{start}"
    return f"containerd://{hashlib.sha256(text.encode()).hexdigest()}"
