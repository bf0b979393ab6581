"""What the scripts of the traces waited for, asked of the double."""

import json
import re
from collections.abc import Callable

from ..controllers.pods import condition, node_of, phase, terminating
from ..server import kinds
from ..server.objects import Obj
from ..server.store import Store


class Waits:
    """Answers for one namespace; "new" pods are those that were not there when ``remember`` was called last."""

    def __init__(self, store: Store, namespace: str) -> None:
        self._store = store
        self._namespace = namespace
        self._known: set[str] = set()

    def remember(self) -> None:
        """Take the pods that are there as known."""
        self._known = {pod["metadata"]["uid"] for pod in self.pods()}

    def holds(self, what: str) -> Callable[[], bool]:
        """Return the test for what a script waited for. Raises KeyError for what none waited for."""
        if found := re.fullmatch(r"(\d+) new pods Running|\d+ pods Running, (\d+) of them new", what):
            count = int(found[1] or found[2])
            return lambda: sum(pod["metadata"]["uid"] not in self._known for pod in self._running()) >= count
        if found := re.fullmatch(r"(\d+) (?:pods )?Running", what):
            least = int(found[1])
            return lambda: len(self._running()) >= least
        if found := re.fullmatch(r"phase (\w+)(?: with (\d+) pods)?", what):
            name, least = found[1], int(found[2] or 0)
            return lambda: self._volcano_phase() == name and len(self.pods()) >= least
        return self._tests()[what]

    def pods(self) -> list[Obj]:
        """Return all pods."""
        return list(self._store.scan(kinds.POD, self._namespace))

    def _tests(self) -> dict[str, Callable[[], bool]]:
        return {
            "no pod left": lambda: not self.pods(),
            "pods gone": lambda: not self.pods(),
            "job gone": lambda: self._store.find(kinds.VOLCANO_JOB, "j", self._namespace) is None,
            "pod gone": self._none_on_lost_node,
            "hanging pod gone": self._none_terminating,
            "hanging pod gone (pod garbage collector)": self._none_terminating,
            "node Ready=Unknown": self._node_is_unknown,
            "NoExecute unreachable taint": self._node_evicts,
            "pod on the lost node gets deletionTimestamp (taint eviction)": lambda: not self._none_terminating(),
            "PDB status computed": self._budget_is_counted,
            "replicated job inactive": self._job_set_is_inactive,
            "jobset carries it": lambda: "keepstep.example/usable" in self._job_set_text(),
            "jobset carries the affinity": lambda: "nodeAffinity" in self._job_set_text(),
            "r Running": lambda: bool(self._running()),
        }

    def _running(self) -> list[Obj]:
        return [pod for pod in self.pods() if phase(pod) == "Running" and not terminating(pod)]

    def _none_terminating(self) -> bool:
        return not any(terminating(pod) for pod in self.pods())

    def _none_on_lost_node(self) -> bool:
        return not any(node_of(pod).endswith("-x0") for pod in self.pods())

    def _volcano_phase(self) -> str:
        job = self._store.find(kinds.VOLCANO_JOB, "j", self._namespace)
        found: str = "" if job is None else job.get("status", {}).get("state", {}).get("phase", "")
        return found

    def _node_is_unknown(self) -> bool:
        found = (condition(node, "Ready") for node in self._store.scan(kinds.NODE))
        return any(one is not None and one["status"] == "Unknown" for one in found)

    def _node_evicts(self) -> bool:
        taints = [one for node in self._store.scan(kinds.NODE) for one in node["spec"].get("taints") or ()]
        return any(one["key"].endswith("/unreachable") and one["effect"] == "NoExecute" for one in taints)

    def _budget_is_counted(self) -> bool:
        budgets = self._store.scan(kinds.PDB, self._namespace)
        return any(one.get("status", {}).get("expectedPods") for one in budgets)

    def _job_set_is_inactive(self) -> bool:
        found = self._store.find(kinds.JOB_SET, "j", self._namespace) or {}
        return not any(one.get("active") for one in found.get("status", {}).get("replicatedJobsStatus") or ())

    def _job_set_text(self) -> str:
        return json.dumps(self._store.find(kinds.JOB_SET, "j", self._namespace))
