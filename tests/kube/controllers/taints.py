"""The taint eviction controller: pods leave nodes whose NoExecute taints they do not tolerate (any longer)."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from ..server import kinds
from ..server.objects import Obj
from ..server.store import EventType
from .cluster import Change, Cluster
from .loop import Key, Steps
from .pods import finished, node_of, set_condition

_SOON = timedelta(milliseconds=10)
_SOURCE = "taint-eviction-controller"


class TaintEviction:
    """Deletes pods from nodes whose NoExecute taints they do not tolerate (any longer)."""

    pace = 1.0

    def __init__(self, cluster: Cluster, faster: float = 1.0) -> None:
        """``faster`` divides the seconds that tolerations give, for tests in real time."""
        self._cluster = cluster
        self._faster = faster
        self._since: dict[tuple[str, str, str], datetime] = {}
        self._done: set[tuple[str, str]] = set()
        self._timed: dict[Key, Obj] = {}

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """All pods of a node whose taints changed, and pods that got a node or went."""
        if change.kind is kinds.NODE and _taints(change.was) != _taints(change.object):
            for pod in self._cluster.scan_node(change.object["metadata"]["name"]):
                yield _key(pod), _SOON
        elif change.kind is kinds.POD and change.type is EventType.DELETED:
            if _key(change.object) in self._timed:
                yield _key(change.object), _SOON
        elif change.kind is kinds.POD:
            bound = change.was is not None and node_of(change.was)
            if node_of(change.object) and not bound:
                yield _key(change.object), _SOON

    def sync(self, key: Key) -> Steps:
        """Evict the pod if its time is up, else say when to look again."""
        pod = self._cluster.at(kinds.POD, key)
        self._cancel_for_gone(key, pod)
        if pod is None:
            return None
        node = self._cluster.find(kinds.NODE, "", node_of(pod))
        if node is None or finished(pod):
            return None
        now = self._cluster.now()
        uid = pod["metadata"]["uid"]
        taints = [taint for taint in node["spec"].get("taints") or () if taint["effect"] == "NoExecute"]
        self._forget_taken_off(uid, taints)
        lefts = list(self._time_left(pod, taints, now))
        if not lefts:
            self._done.discard((uid, ""))
            return None
        left = min(lefts)
        if left > timedelta(0):
            self._timed[key] = pod
            return left
        self._timed.pop(key, None)
        mark = uid, ",".join(sorted(taint["key"] for taint in taints))
        if mark not in self._done:
            self._done.add(mark)
            yield from self._evict(pod)
        return None

    def _cancel_for_gone(self, key: Key, pod: Obj | None) -> None:
        """Forget the timer of a pod that is gone, though another may bear its name by now."""
        gone = self._timed.get(key)
        if gone is not None and (pod is None or pod["metadata"]["uid"] != gone["metadata"]["uid"]):
            del self._timed[key]
            told = f"Cancelling deletion of Pod {key}"
            self._cluster.tell(gone, "TaintManagerEviction", told, source=_SOURCE)

    def _evict(self, pod: Obj) -> Steps:
        meta = pod["metadata"]
        text = f"Marking for deletion Pod {meta['namespace']}/{meta['name']}"
        self._cluster.tell(pod, "TaintManagerEviction", text, source=_SOURCE)
        told = "Taint manager: deleting due to NoExecute taint"
        set_condition(
            pod, "DisruptionTarget", "True", reason="DeletionByTaintManager", message=told, now=self._cluster.now()
        )
        self._cluster.set_status(kinds.POD, pod)
        yield
        self._cluster.delete(kinds.POD, pod)
        return None

    def _forget_taken_off(self, uid: str, taints: list[Obj]) -> None:
        there = {(taint["key"], taint.get("value", "")) for taint in taints}
        for known in [known for known in self._since if known[0] == uid and known[1:] not in there]:
            del self._since[known]

    def _time_left(self, pod: Obj, taints: list[Obj], now: datetime) -> Iterator[timedelta]:
        for taint in taints:
            since = self._since.setdefault((pod["metadata"]["uid"], taint["key"], taint.get("value", "")), now)
            fits = [one for one in pod["spec"].get("tolerations") or () if tolerates(one, taint)]
            limits = [one["tolerationSeconds"] for one in fits if one.get("tolerationSeconds") is not None]
            if not fits:
                yield timedelta(0)
            elif limits:
                yield since + timedelta(seconds=min(limits)) / self._faster - now


def tolerates(toleration: Obj, taint: Obj) -> bool:
    """Tell whether one toleration takes one taint (k8s.io/component-helpers scheduling ToleratesTaint)."""
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if toleration.get("key") not in {None, "", taint["key"]}:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def _taints(node: Obj | None) -> list[Obj] | None:
    return None if node is None else node["spec"].get("taints")


def _key(pod: Obj) -> Key:
    return Key(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
