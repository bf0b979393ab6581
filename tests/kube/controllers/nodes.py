"""The node lifecycle controller: lost nodes, their taints, the taints of cordoned nodes.

Times as kube-controller-manager's defaults unless told: node-monitor-period 5 s, grace 50 s, NoExecute taints one node
per 10 s and zone, pod collection each 20 s, 40 s quarantine for a node that is gone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..server import kinds
from ..server.objects import Obj, instant
from ..server.store import EventType
from .cluster import Change, Cluster
from .loop import Key, Steps
from .pods import condition, finished, set_condition

TICK = Key("")
UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_SOON = timedelta(milliseconds=10)
_LEASES = "kube-node-lease"
_ZONE = "topology.kubernetes.io/zone"
_WHY = {"Unknown": UNREACHABLE, "False": NOT_READY}
"""The taint by what the Ready condition says."""
_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True)
class NodeTimes:
    """The controller manager's flags; a test in real time scales them."""

    monitor_period: timedelta = timedelta(seconds=5)
    monitor_grace: timedelta = timedelta(seconds=50)
    evictions_apart: timedelta = timedelta(seconds=10)
    collection_period: timedelta = timedelta(seconds=20)
    quarantine: timedelta = timedelta(seconds=40)


class NodeLifecycle:
    """Turns a silent node's conditions Unknown, its pods unready, and taints it; taints cordoned nodes."""

    pace = 1.0

    def __init__(self, cluster: Cluster, times: NodeTimes = NodeTimes()) -> None:
        self._cluster = cluster
        self._times = times
        self._heard: dict[str, tuple[str, datetime]] = {}
        self._evict: list[str] = []
        self._next_eviction: dict[str, datetime] = {}

    def hold_evictions(self, until: datetime, zone: str = "") -> None:
        """Pretend that other nodes of the zone are ahead in the queue for the NoExecute taint until then."""
        self._next_eviction[zone] = until

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Nodes whose spec or conditions changed."""
        if change.kind is kinds.NODE and change.type is not EventType.DELETED:
            yield Key(change.object["metadata"]["name"]), _SOON

    def sync(self, key: Key) -> Steps:
        """On the tick look at all leases, else bring one node's taints in line."""
        if key != TICK:
            return self._sync_taints(key)
        return self._look_around()

    def mark_lost(self, name: str) -> Steps:
        """Say of a node that it went silent, and of its pods that they are not ready."""
        now = self._cluster.now()
        node = self._cluster.find(kinds.NODE, "", name)
        if node is None:
            return None
        for kind in _CONDITIONS:
            text = "Kubelet stopped posting node status."
            set_condition(node, kind, "Unknown", reason="NodeStatusUnknown", message=text, now=now)
        self._cluster.set_status(kinds.NODE, node)
        yield
        yield from self._mark_pods_unready(name)
        return None

    def _look_around(self) -> Steps:
        now = self._cluster.now()
        for node in list(self._cluster.scan(kinds.NODE)):
            name = node["metadata"]["name"]
            silent = now - self._last_heard(name, now)
            if silent > self._times.monitor_grace and _ready(node) != "Unknown":
                yield from self.mark_lost(name)
            elif _ready(node) == "False" and name not in self._evict and not _tainted(node, NOT_READY, "NoExecute"):
                yield from self._mark_pods_unready(name)
        yield from self._evict_next(now)
        pending = [self._next_eviction.get(self._zone(name), now) for name in self._evict]
        pause = min([at - now for at in pending if at > now], default=self._times.monitor_period)
        return min(pause, self._times.monitor_period)

    def _last_heard(self, name: str, now: datetime) -> datetime:
        lease = self._cluster.find(kinds.LEASE, _LEASES, name)
        renewed = "" if lease is None else lease["spec"].get("renewTime", "")
        known = self._heard.get(name)
        if known is None or known[0] != renewed:
            self._heard[name] = known = renewed, now
        return known[1]

    def _mark_pods_unready(self, name: str) -> Steps:
        """Say of the pods of a node that is silent or not ready that they are not, and put it up for eviction."""
        now = self._cluster.now()
        for found in self._cluster.scan_node(name):
            meta = found["metadata"]
            pod = self._cluster.find(kinds.POD, meta["namespace"], meta["name"])
            if pod is not None and not finished(pod) and set_condition(pod, "Ready", "False", now=now):
                self._cluster.set_status(kinds.POD, pod)
                self._cluster.tell(pod, "NodeNotReady", "Node is not ready", source="node-controller", warning=True)
        if name not in self._evict:
            self._evict.append(name)
        return None
        yield

    def _evict_next(self, now: datetime) -> Steps:
        for name in tuple(self._evict):
            node = self._cluster.find(kinds.NODE, "", name)
            if node is None or _ready(node) == "True":
                self._evict.remove(name)
            elif self._next_eviction.get(self._zone(name), now) <= now:
                self._evict.remove(name)
                self._next_eviction[self._zone(name)] = now + self._times.evictions_apart
                self._taint(node, _WHY[_ready(node)], "NoExecute", now)
                yield
        return None

    def _sync_taints(self, name: Key) -> Steps:
        node = self._cluster.find(kinds.NODE, "", name)
        if node is None:
            return None
        now = self._cluster.now()
        wanted = {key: _ready(node) == status for status, key in _WHY.items()}
        wanted[UNSCHEDULABLE] = bool(node["spec"].get("unschedulable"))
        kept = [
            taint
            for taint in node["spec"].get("taints") or ()
            if wanted.get(taint["key"], True) or (taint["key"], taint["effect"]) == (OUT_OF_SERVICE, "NoExecute")
        ]
        have = {taint["key"] for taint in kept if taint["effect"] == "NoSchedule"}
        kept += [_new_taint(key, "NoSchedule", now) for key, on in wanted.items() if on and key not in have]
        if kept != (node["spec"].get("taints") or []):
            node["spec"]["taints"] = kept
            if not kept:
                del node["spec"]["taints"]
            self._cluster.update(kinds.NODE, node)
        return None
        yield

    def _taint(self, node: Obj, key: str, effect: str, now: datetime) -> None:
        node["spec"].setdefault("taints", []).append(_new_taint(key, effect, now))
        self._cluster.update(kinds.NODE, node)

    def _zone(self, name: str) -> str:
        node = self._cluster.find(kinds.NODE, "", name)
        zone: str = "" if node is None else (node["metadata"].get("labels") or {}).get(_ZONE, "")
        return zone


def _ready(node: Obj) -> str:
    found = condition(node, "Ready")
    status: str = "Unknown" if found is None else found["status"]
    return status


def _tainted(node: Obj, key: str, effect: str) -> bool:
    return any((taint["key"], taint["effect"]) == (key, effect) for taint in node["spec"].get("taints") or ())


def _new_taint(key: str, effect: str, now: datetime) -> Obj:
    return {"key": key, "effect": effect, "timeAdded": instant(now)}
