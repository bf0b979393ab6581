"""Which nodes take a pod, and why the others do not: the filters of kube-scheduler that training pods meet."""

from collections import Counter
from collections.abc import Callable, Iterable

from ..server.objects import Obj, labels_of
from .nodes import UNSCHEDULABLE
from .pods import finished, requests
from .taints import tolerates

_CORDONED = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}


class Room:
    """What is free on each node during one scheduling cycle; pods placed in it count at once."""

    def __init__(self, pods_on: Callable[[str], Iterable[Obj]], nodes: Iterable[Obj]) -> None:
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        self._free: dict[str, dict[str, int]] = {}
        self._pods_on = pods_on

    def free(self, name: str) -> dict[str, int]:
        """Return what is left of the node's allocatable, by resource."""
        if name not in self._free:
            status = self.nodes[name].get("status", {})
            allocatable = status.get("allocatable") or status.get("capacity") or {}
            left = {key: int(amount) for key, amount in allocatable.items() if str(amount).isdigit()}
            for pod in self._pods_on(name):
                if not finished(pod):
                    _take(left, requests(pod))
            self._free[name] = left
        return self._free[name]

    def place(self, pod: Obj, name: str) -> None:
        """Count the pod on the node."""
        _take(self.free(name), requests(pod))

    def give_back(self, pod: Obj, name: str) -> None:
        """Count the pod on the node no longer."""
        _take(self.free(name), {key: -amount for key, amount in requests(pod).items()})

    def candidates(self, pod: Obj) -> tuple[list[str], Counter[str]]:
        """Return the nodes that fit, and how many nodes each other reason excludes."""
        fit: list[str] = []
        reasons: Counter[str] = Counter()
        for name, node in self.nodes.items():
            why = self._why_not(pod, node)
            if why:
                reasons[why] += 1
            else:
                fit.append(name)
        return fit, reasons

    def _why_not(self, pod: Obj, node: Obj) -> str:
        spec = node["spec"]
        tolerations = pod["spec"].get("tolerations") or ()
        if spec.get("unschedulable") and not any(tolerates(one, _CORDONED) for one in tolerations):
            return "node(s) were unschedulable"
        hard = [taint for taint in spec.get("taints") or () if taint["effect"] in {"NoSchedule", "NoExecute"}]
        if any(not any(tolerates(one, taint) for one in tolerations) for taint in hard):
            return "node(s) had untolerated taint(s)"
        if not _selected(pod, node):
            return "node(s) didn't match Pod's node affinity/selector"
        free = self.free(node["metadata"]["name"])
        for name, amount in requests(pod).items():
            if free.get(name, 0) < amount:
                return "Too many pods" if name == "pods" else f"Insufficient {name}"
        return ""


def why_unschedulable(nodes: int, reasons: Counter[str]) -> str:
    """Return kube-scheduler's sentence."""
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    return f"0/{nodes} nodes are available: {told}."


def _take(left: dict[str, int], asked: dict[str, int]) -> None:
    for name, amount in asked.items():
        left[name] = left.get(name, 0) - amount


def _selected(pod: Obj, node: Obj) -> bool:
    labels = labels_of(node)
    if any(labels.get(key) != value for key, value in (pod["spec"].get("nodeSelector") or {}).items()):
        return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term(term, node, labels) for term in required.get("nodeSelectorTerms") or ())


def _term(term: Obj, node: Obj, labels: dict[str, str]) -> bool:
    expressions = term.get("matchExpressions") or []
    fields = term.get("matchFields") or []
    if not expressions and not fields:
        return False
    named = {"metadata.name": node["metadata"]["name"]}
    return all(_expression(one, labels) for one in expressions) and all(_expression(one, named) for one in fields)


def _expression(one: Obj, labels: dict[str, str]) -> bool:
    found = labels.get(one["key"])
    values = one.get("values") or []
    match one["operator"]:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt":
            return found is not None and found.isdigit() and int(found) > int(values[0])
        case "Lt":
            return found is not None and found.isdigit() and int(found) < int(values[0])
        case other:
            raise ValueError(f"{other!r} is no node selector operator")
