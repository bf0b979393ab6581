"""A kubelet for virtual time: containers start and die at once, or as ``fake.kubelet/*`` annotations tell it to.

``exit-code`` (with ``reason``) ends a running pod, ``term-after`` delays its end after SIGTERM, ``stuck`` holds it for
ever: what the recorded traces were made with. A node that is lost stops renewing its lease and acting on its pods.
"""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from .controllers.cluster import Change, Cluster
from .controllers.loop import Key, Steps
from .controllers.pods import finished, holds, node_of, phase, set_condition, terminating
from .server import kinds
from .server.deletion import DeleteOptions
from .server.objects import Obj, instant, micro_instant
from .server.store import EventType

_REACTION = timedelta(milliseconds=12)
_NOW = timedelta(0)
_RENEWAL = timedelta(seconds=10)  # kubelet: nodeLeaseDurationSeconds 40 x 0.25
_LEASES = "kube-node-lease"
_HEALTHY = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
_SIGTERM = 143
_PREFIX = "fake.kubelet/"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class VirtualKubelet:
    """All nodes' kubelets in one; keys are ``namespace/name`` of pods and ``/name`` of nodes."""

    pace = 2.0

    def __init__(self, cluster: Cluster, *, renewal: timedelta = _RENEWAL) -> None:
        self._cluster = cluster
        self._renewal = renewal
        self._lost: set[str] = set()
        self._told_to_stop: dict[str, datetime] = {}

    def lose(self, node: str) -> None:
        """Stop the node's lease and its pods' agent."""
        self._lost.add(node)

    def find_again(self, node: str) -> None:
        """Let a lost node speak up: it renews its lease, says Ready and does what it was told meanwhile."""
        self._lost.discard(node)
        self._say_ready(node)

    def _say_ready(self, node: str) -> None:
        found = self._cluster.find(kinds.NODE, "", node)
        if found is not None:
            for kind, status in _HEALTHY.items():
                set_condition(found, kind, status, reason="KubeletReady", now=self._cluster.now())
            self._cluster.set_status(kinds.NODE, found)

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Pods with a node, and new nodes."""
        meta = change.object["metadata"]
        if change.type is EventType.DELETED:
            self._told_to_stop.pop(meta["uid"], None)
        elif change.kind is kinds.POD and node_of(change.object):
            yield Key(f"{meta['namespace']}/{meta['name']}"), _REACTION
        elif change.kind is kinds.NODE and (change.was is None or _is_back(change)):
            yield Key(f"/{meta['name']}"), _NOW
            for pod in self._cluster.scan_node(meta["name"]):
                yield Key(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"), _REACTION

    def sync(self, key: Key) -> Steps:
        """Renew a lease, or bring a pod to what its object and annotations say."""
        if key.startswith("/"):
            return self._renew(key[1:])
        return self._sync_pod(key)

    def _renew(self, node: str) -> Steps:
        there = self._cluster.find(kinds.NODE, "", node)
        if node in self._lost or there is None:
            return None
        renewed = {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": micro_instant(self._cluster.now())}
        lease = self._cluster.find(kinds.LEASE, _LEASES, node)
        if lease is None:
            self._cluster.create(kinds.LEASE, {"metadata": {"name": node, "namespace": _LEASES}, "spec": renewed})
        else:
            lease["spec"] = renewed
            self._cluster.update(kinds.LEASE, lease)
        if _given_up(there):
            self._say_ready(node)
        return self._renewal
        yield

    def _sync_pod(self, key: Key) -> Steps:
        pod = self._cluster.at(kinds.POD, key)
        if pod is None or not node_of(pod) or node_of(pod) in self._lost:
            return None
        if terminating(pod):
            return (yield from self._stop(pod))
        if phase(pod) == "Running" and set_condition(pod, "Ready", "True", now=self._cluster.now()):
            pod = self._cluster.set_status(kinds.POD, pod)
        if phase(pod) == "Pending":
            self._run(pod)
        elif not finished(pod) and (code := _told(pod, "exit-code")) is not None:
            self._end(pod, int(code), _told(pod, "reason") or "Error")
        return None

    def _stop(self, pod: Obj) -> Steps:
        if pod["metadata"]["deletionGracePeriodSeconds"] == 0 or _told(pod, "stuck") is not None:
            return None
        now = self._cluster.now()
        if not finished(pod):
            since = self._told_to_stop.setdefault(pod["metadata"]["uid"], now)
            left = since + _duration(_told(pod, "term-after") or "12ms") - now
            if left > _NOW:
                return left
            code = int(_told(pod, "exit-code") or _SIGTERM)
            self._end(pod, code, "Error" if code else "Completed")
            yield
        self._cluster.delete(kinds.POD, pod, DeleteOptions(grace=0, uid=pod["metadata"]["uid"]))
        return None

    def _run(self, pod: Obj) -> None:
        now = self._cluster.now()
        status = pod.setdefault("status", {})
        status |= {"phase": "Running", "startTime": instant(now), "podIP": "192.0.2.1", "hostIP": "192.0.2.1"}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled"):
            set_condition(pod, kind, "True", now=now)
        status["containerStatuses"] = [_container(one, now) for one in pod["spec"]["containers"]]
        self._cluster.set_status(kinds.POD, pod)

    def _end(self, pod: Obj, code: int, reason: str) -> None:
        now = self._cluster.now()
        ended = {"exitCode": code, "reason": reason, "startedAt": pod["status"].get("startTime", instant(now))}
        pod["status"]["phase"] = "Failed" if code else "Succeeded"
        for kind in ("Ready", "ContainersReady"):
            set_condition(pod, kind, "False", reason="PodFailed" if code else "PodCompleted", now=now)
        for one in pod["status"].get("containerStatuses") or ():
            one |= {"ready": False, "state": {"terminated": ended | {"finishedAt": instant(now)}}}
        self._cluster.set_status(kinds.POD, pod)


def _given_up(node: Obj) -> bool:
    """Say whether a controller has written that this node is silent, as one may whose look at the lease came first."""
    return any(one["type"] == "Ready" and one["status"] == "Unknown" for one in node["status"]["conditions"])


def _is_back(change: Change) -> bool:
    return change.was is not None and not holds(change.was, "Ready") and holds(change.object, "Ready")


def _container(spec: Obj, now: datetime) -> Obj:
    running = {"running": {"startedAt": instant(now)}}
    return {
        "name": spec["name"],
        "image": spec.get("image", ""),
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "state": running,
        "lastState": {},
    }


def _told(pod: Obj, what: str) -> str | None:
    found: str | None = (pod["metadata"].get("annotations") or {}).get(_PREFIX + what)
    return found


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"([\d.]+)(ms|s|m)", text)
    if found is None:
        raise ValueError(f"{text!r} is no duration like 6s")
    return timedelta(seconds=float(found[1]) * _UNITS[found[2]])
