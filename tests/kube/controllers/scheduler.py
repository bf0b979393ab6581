"""kube-scheduler: binds pods one by one where they fit, and may preempt pods of lower priority."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from ..server import kinds
from ..server.binding import bind as store_bind
from ..server.objects import Obj
from ..server.store import EventType
from .cluster import Change, Cluster
from .fit import Room, why_unschedulable
from .loop import Key, Steps
from .pods import condition, finished, node_of, set_condition, terminating

Choose = Callable[[Obj, Sequence[str]], str]
"""Picks one of the nodes that fit; the real scheduler picks at random among equals."""

NAME = "default-scheduler"
_SOON = timedelta(milliseconds=8)
_ALL = Key("")


def first(pod: Obj, nodes: Sequence[str]) -> str:
    """Take the first node by name."""
    return min(nodes)


class Scheduler:
    """One queue: any change of pods or nodes makes it try all pods that wait."""

    pace = 1.0

    def __init__(self, cluster: Cluster, choose: Choose = first) -> None:
        self._cluster = cluster
        self._choose = choose
        self._waiting: dict[tuple[str, str], None] = {}

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """New pods, pods that end, nodes that change."""
        if change.kind is kinds.NODE:
            if self._waiting and _matters(change):
                yield _ALL, _SOON
        elif change.kind is kinds.POD:
            self._note(change)
            if self._waiting and (change.type is not EventType.MODIFIED or finished(change.object)):
                yield _ALL, _SOON

    def sync(self, _key: Key) -> Steps:
        """Try each waiting pod, oldest and most important first."""
        room = Room(self._cluster.scan_node, self._cluster.scan(kinds.NODE))
        found = [self._cluster.find(kinds.POD, namespace, name) for namespace, name in self._waiting]
        pods = [pod for pod in found if pod is not None and not node_of(pod) and not terminating(pod)]
        for pod in sorted(pods, key=_rank):
            fit, reasons = room.candidates(pod)
            if fit:
                node = self._choose(pod, fit)
                room.place(pod, node)
                bind(self._cluster, pod, node, source=NAME)
                yield
            else:
                told = why_unschedulable(len(room.nodes), reasons)
                refuse(self._cluster, pod, "Unschedulable", told, source=NAME)
                yield from self._preempt(pod, room)
        return None

    def _note(self, change: Change) -> None:
        pod = change.object
        key = pod["metadata"]["namespace"], pod["metadata"]["name"]
        mine = pod["spec"].get("schedulerName", NAME) == NAME
        if change.type is not EventType.DELETED and mine and not node_of(pod) and not finished(pod):
            self._waiting.setdefault(key)
        else:
            self._waiting.pop(key, None)

    def _preempt(self, pod: Obj, room: Room) -> Steps:
        """Delete the pods of lower priority on the first node where that makes room."""
        mine = pod["spec"].get("priority") or 0
        if mine <= 0:
            return None
        for name in sorted(room.nodes):
            victims = [one for one in self._cluster.scan_node(name) if (one["spec"].get("priority") or 0) < mine]
            if not victims or any(terminating(one) for one in victims):
                continue
            stay = [one for one in self._cluster.scan_node(name) if one not in victims]
            others = Room({name: stay}.__getitem__, [room.nodes[name]])
            if others.candidates(pod)[0]:
                for victim in victims:
                    yield from self._evict(victim, pod)
                return None
        return None

    def _evict(self, found: Obj, preemptor: Obj) -> Steps:
        victim = self._cluster.find(kinds.POD, found["metadata"]["namespace"], found["metadata"]["name"])
        if victim is None:
            return None
        told = f"{NAME}: preempting to accommodate a higher priority pod"
        now = self._cluster.now()
        set_condition(victim, "DisruptionTarget", "True", reason="PreemptionByScheduler", message=told, now=now)
        self._cluster.set_status(kinds.POD, victim)
        yield
        self._cluster.delete(kinds.POD, victim)
        by = f"Preempted by pod {preemptor['metadata']['uid']} on node {node_of(victim)}"
        self._cluster.tell(victim, "Preempted", by, source=NAME)
        return None


def bind(cluster: Cluster, pod: Obj, node: str, *, source: str) -> None:
    """Bind the pod and tell of it."""
    meta = pod["metadata"]
    store_bind(cluster.store, meta["name"], meta["namespace"], node)
    message = f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
    cluster.tell(pod, "Scheduled", message, source=source)


def refuse(cluster: Cluster, pod: Obj, reason: str, message: str, *, source: str) -> None:
    """Say on the pod and by an event why it has no node; nothing if that was said before."""
    before = condition(pod, "PodScheduled")
    if before is not None and (before.get("reason"), before.get("message")) == (reason, message):
        return
    set_condition(pod, "PodScheduled", "False", reason=reason, message=message, now=cluster.now())
    pod["status"].setdefault("phase", "Pending")
    cluster.set_status(kinds.POD, pod)
    cluster.tell(pod, "FailedScheduling", message, source=source, warning=True)


def _rank(pod: Obj) -> tuple[int, str, int]:
    meta = pod["metadata"]
    return -(pod["spec"].get("priority") or 0), meta["creationTimestamp"], int(meta["resourceVersion"])


def _matters(change: Change) -> bool:
    if change.was is None or change.type is EventType.DELETED:
        return change.was is None
    return any(change.was[half] != change.object[half] for half in ("spec", "metadata"))
