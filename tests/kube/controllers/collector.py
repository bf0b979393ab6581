"""The pod garbage collector: removes what no kubelet will, pods of nodes that are gone or out of service."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.objects import Obj
from .cluster import Change, Cluster
from .loop import Key, Steps
from .nodes import OUT_OF_SERVICE, NodeTimes
from .pods import finished, holds, node_of, set_condition, terminating


class PodCollector:
    """Removes what no kubelet will: pods of nodes that are gone or out of service."""

    pace = 1.0

    def __init__(self, cluster: Cluster, times: NodeTimes = NodeTimes()) -> None:  # noqa: B008 - frozen
        self._cluster = cluster
        self._times = times
        self._gone_since: dict[str, datetime] = {}

    def concerns(self, _change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Nothing: it ticks."""
        return ()

    def sync(self, _key: Key) -> Steps:
        """Go through all pods once."""
        now = self._cluster.now()
        for pod in list(self._cluster.scan(kinds.POD)):
            node = node_of(pod)
            if not node:
                if terminating(pod):
                    self._cluster.delete(kinds.POD, pod, DeleteOptions(grace=0))
                continue
            if self._is_gone(node, now):
                yield from self._collect(pod, "PodGC: node no longer exists")
            elif terminating(pod) and self._is_out_of_service(node):
                yield from self._collect(pod, "")
        return self._times.collection_period

    def _collect(self, found: Obj, why: str) -> Steps:
        pod = self._cluster.find(kinds.POD, found["metadata"]["namespace"], found["metadata"]["name"])
        if pod is None:
            return None
        now = self._cluster.now()
        if not finished(pod):
            pod["status"]["phase"] = "Failed"
            if why:
                set_condition(pod, "DisruptionTarget", "True", reason="DeletionByPodGC", message=why, now=now)
            self._cluster.set_status(kinds.POD, pod)
            yield
        self._cluster.delete(kinds.POD, pod, DeleteOptions(grace=0))
        return None

    def _is_gone(self, node: str, now: datetime) -> bool:
        if self._cluster.find(kinds.NODE, "", node) is not None:
            self._gone_since.pop(node, None)
            return False
        return now - self._gone_since.setdefault(node, now) >= self._times.quarantine

    def _is_out_of_service(self, name: str) -> bool:
        node = self._cluster.find(kinds.NODE, "", name)
        if node is None or holds(node, "Ready"):
            return False
        return any(taint["key"] == OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())
