"""Pods of small shell commands, for the tests of the kubelet."""

from ..server.objects import Obj


def shell(script: str, name: str = "main", **more: object) -> Obj:
    """Return a container that runs a script."""
    return {"name": name, "image": "train:1", "command": ["/bin/sh", "-c", script], **more}


def pod(*containers: Obj, name: str = "p", labels: dict[str, str] | None = None, **spec: object) -> Obj:
    """Return a pod of these containers; restartPolicy Never unless told."""
    meta = {"name": name, "labels": labels or {}}
    inner = {"restartPolicy": "Never", "containers": list(containers), **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": inner}


def indexed_job(container: Obj, *, pods: int = 2, name: str = "j", **spec: object) -> Obj:
    """Return an indexed Job."""
    inner = {"restartPolicy": "Never", "containers": [container]}
    shape = {"completionMode": "Indexed", "completions": pods, "parallelism": pods, "template": {"spec": inner}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {**shape, **spec}}


def phase(pod: Obj | None) -> str:
    """Return the phase, "gone" for no pod."""
    found: str = "gone" if pod is None else pod["status"]["phase"]
    return found


def state(pod: Obj | None, container: str = "main") -> Obj:
    """Return a container's state and what else its status says."""
    status = {} if pod is None else pod["status"]
    every = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    found: Obj = next((one for one in every if one["name"] == container), {"state": {}})
    return found


def end(pod: Obj | None, container: str = "main") -> tuple[int, str] | None:
    """Return the exit code and the reason of a container that ended."""
    ended = state(pod, container)["state"].get("terminated")
    return None if ended is None else (ended["exitCode"], ended["reason"])


def waits(pod: Obj | None, container: str = "main") -> str:
    """Return what a container waits for."""
    reason: str = state(pod, container)["state"].get("waiting", {}).get("reason", "")
    return reason
