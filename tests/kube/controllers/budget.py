"""The disruption controller: what a PodDisruptionBudget allows just now."""

from collections.abc import Iterable
from datetime import timedelta
from math import ceil

from ..server import kinds
from ..server.objects import Obj, controller_of, copied, labels_of, read_instant
from ..server.selectors import matches
from ..server.store import EventType
from .cluster import Change, Cluster
from .loop import Key, Steps
from .pods import finished, ready, set_condition, terminating

_SOON = timedelta(milliseconds=10)
_FORGOTTEN_AFTER = timedelta(minutes=2)  # DeletionTimeout
_SCALED = {"ReplicaSet", "StatefulSet", "ReplicationController", "Deployment"}
_SOURCE = "controllermanager"


class DisruptionController:
    """Keys are namespace/name of budgets."""

    pace = 1.0

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Budgets themselves, and those whose pods change."""
        meta = change.object["metadata"]
        if change.kind is kinds.PDB and change.type is not EventType.DELETED:
            yield Key(f"{meta['namespace']}/{meta['name']}"), _SOON
        elif change.kind is kinds.POD:
            for budget in self._cluster.scan(kinds.PDB, meta["namespace"]):
                if matches(budget["spec"].get("selector"), labels_of(change.object)):
                    yield Key(f"{meta['namespace']}/{budget['metadata']['name']}"), _SOON

    def sync(self, key: Key) -> Steps:
        """Count pods and write the status; without a countable owner say SyncFailed."""
        budget = self._cluster.at(kinds.PDB, key)
        if budget is None:
            return None
        pods = [
            pod
            for pod in self._cluster.scan(kinds.POD, budget["metadata"]["namespace"])
            if matches(budget["spec"].get("selector"), labels_of(pod)) and not finished(pod)
        ]
        before = copied(budget.get("status", {}))
        failed = self._why_uncountable(budget, pods)
        if failed:
            self._say_failed(budget, failed)
        else:
            self._count(budget, pods)
        if budget.get("status", {}) != before:
            self._cluster.set_status(kinds.PDB, budget)
        return None
        yield

    def _why_uncountable(self, budget: Obj, pods: list[Obj]) -> str:
        """MaxUnavailable and percentages need the owner's scale, which no job kind has."""
        least = budget["spec"].get("minAvailable")
        if isinstance(least, int):
            return ""
        for pod in pods:
            owner = controller_of(pod)
            if owner is not None and owner["kind"] not in _SCALED:
                kind = kinds.BY_API.get((owner["apiVersion"], owner["kind"]))
                name = owner["kind"].lower() if kind is None else kind.resource
                return f"{name} does not implement the scale subresource"
        return ""

    def _say_failed(self, budget: Obj, why: str) -> None:
        budget.setdefault("status", {})["disruptionsAllowed"] = 0
        changed = set_condition(
            budget, "DisruptionAllowed", "False", reason="SyncFailed", message=why, now=self._cluster.now()
        )
        if changed:
            told = f"Failed to calculate the number of expected pods: {why}"
            self._cluster.tell(budget, "CalculateExpectedPodCountFailed", told, source=_SOURCE, warning=True)

    def _leaving(self, budget: Obj, pods: list[Obj]) -> dict[str, str]:
        """Return the pods that the eviction API let go and nobody has deleted yet, for two minutes."""
        there = {pod["metadata"]["name"] for pod in pods if not terminating(pod)}
        since = self._cluster.now() - _FORGOTTEN_AFTER
        let_go = budget.get("status", {}).get("disruptedPods") or {}
        return {name: at for name, at in let_go.items() if name in there and read_instant(at) > since}

    def _count(self, budget: Obj, pods: list[Obj]) -> None:
        expected = len(pods)
        leaving = self._leaving(budget, pods)
        healthy = sum(ready(pod) and not terminating(pod) and pod["metadata"]["name"] not in leaving for pod in pods)
        spec = budget["spec"]
        if "maxUnavailable" in spec:
            desired = max(expected - _amount(spec["maxUnavailable"], expected), 0)
        else:
            desired = _amount(spec.get("minAvailable", 0), expected)
        allowed = max(healthy - desired, 0) if expected else 0
        status = budget.setdefault("status", {})
        status |= {"observedGeneration": budget["metadata"].get("generation", 1), "disruptionsAllowed": allowed}
        status |= {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected}
        status.pop("disruptedPods", None)
        if leaving:
            status["disruptedPods"] = leaving
        reason = "SufficientPods" if allowed else "InsufficientPods"
        set_condition(budget, "DisruptionAllowed", str(bool(allowed)), reason=reason, now=self._cluster.now())


def _amount(of: int | str, expected: int) -> int:
    return of if isinstance(of, int) else ceil(int(of.rstrip("%")) * expected / 100)
