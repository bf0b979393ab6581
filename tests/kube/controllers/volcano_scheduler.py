"""The Volcano scheduler: one session a second, pod groups enqueued, gangs placed whole or not at all.

Rules from volcano pkg/scheduler (framework/session.go jobStatus, plugins/gang); reasons on pods as seen in the traces:
in a gang that lacks room the pods that would fit are told Schedulable, the others Unschedulable.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

from ..server import kinds
from ..server.objects import Obj
from .cluster import Change, Cluster
from .fit import Room, why_unschedulable
from .loop import Key, Steps
from .pods import by_name, finished, node_of, phase, set_condition, terminating
from .scheduler import Choose, bind, first, refuse
from .volcano_request import GROUP

NAME = "volcano"


class VolcanoScheduler:
    """One key: the session."""

    pace = 0.0

    def __init__(
        self,
        cluster: Cluster,
        choose: Choose = first,
        period: timedelta = timedelta(seconds=1),
    ) -> None:
        self._cluster = cluster
        self._choose = choose
        self._period = period

    def concerns(self, _change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Nothing: it ticks."""
        return ()

    def sync(self, _key: Key) -> Steps:
        """Go through all pod groups."""
        room = Room(self._cluster.scan_node, self._cluster.scan(kinds.NODE))
        for group in list(self._cluster.scan(kinds.POD_GROUP)):
            meta = group["metadata"]
            fresh = self._cluster.find(kinds.POD_GROUP, meta["namespace"], meta["name"])
            if fresh is not None:
                yield from self._serve(fresh, room)
        return self._period

    def _serve(self, group: Obj, room: Room) -> Steps:
        pods = [
            pod
            for pod in by_name(self._cluster.scan(kinds.POD, group["metadata"]["namespace"]))
            if (pod["metadata"].get("annotations") or {}).get(GROUP) == group["metadata"]["name"]
        ]
        before = group.get("status", {}).get("phase", "Pending")
        gang = _Gang(group, pods, room, self._choose)
        if before != "Pending" or any(node_of(pod) for pod in pods):
            gang.try_to_place()
        for pod, node in gang.placed:
            fresh = self._cluster.find(kinds.POD, pod["metadata"]["namespace"], pod["metadata"]["name"])
            if fresh is not None:
                bind(self._cluster, fresh, node, source=NAME)
                yield
        for pod, reason in gang.refused:
            fresh = self._cluster.find(kinds.POD, pod["metadata"]["namespace"], pod["metadata"]["name"])
            if fresh is not None:
                refuse(self._cluster, fresh, reason, gang.because, source=NAME)
        self._write(group, gang, before)
        return None

    def _write(self, group: Obj, gang: "_Gang", before: str) -> None:
        status = group.setdefault("status", {})
        old = {key: status.get(key) for key in ("phase", "running", "failed", "succeeded")}
        now = self._cluster.now()
        changed = False
        if gang.short:
            told = f"{gang.lacking}/{len(gang.pods)} tasks in gang unschedulable: {gang.because}"
            changed = set_condition(group, "Unschedulable", "True", reason="NotEnoughResources", message=told, now=now)
        elif gang.placed:
            changed = set_condition(
                group, "Scheduled", "True", reason="tasks in gang are ready to be scheduled", now=now
            )
            self._cluster.tell(group, "Scheduled", "pod group is ready", source=NAME)
        if gang.short or not gang.pods:
            told = f"{gang.lacking}/{len(gang.pods)} tasks in gang unschedulable: {gang.state}"
            self._cluster.tell(group, "Unschedulable", told, source=NAME, warning=True)
        status["phase"] = gang.phase(before)
        for key in ("running", "failed", "succeeded"):
            _put(status, key, gang.count(key.capitalize()))
        if changed or old != {key: status.get(key) for key in old}:
            self._cluster.set_status(kinds.POD_GROUP, group)


class _Gang:
    """A pod group's pods in one session."""

    def __init__(self, group: Obj, pods: list[Obj], room: Room, choose: Choose) -> None:
        self.pods = pods
        self.placed: list[tuple[Obj, str]] = []
        self.refused: list[tuple[Obj, str]] = []
        self.because = ""
        self.state = f"pod group is not ready, {group['spec']['minMember']} minAvailable"
        self.lacking = 0
        self._least = group["spec"]["minMember"]
        self._held = [pod for pod in pods if node_of(pod) and not finished(pod)]
        self._done = [pod for pod in pods if phase(pod) == "Succeeded"]
        self._waiting = [pod for pod in pods if not node_of(pod) and not terminating(pod) and not finished(pod)]
        self._room = room
        self._choose = choose
        self.short = bool(pods) and len(self._held) + len(self._done) < self._least

    def try_to_place(self) -> None:
        """Place what fits if the gang gets whole by it."""
        reasons: Counter[str] = Counter()
        blocked: list[Obj] = []
        for pod in self._waiting:
            fit, why = self._room.candidates(pod)
            if fit:
                node = self._choose(pod, fit)
                self._room.place(pod, node)
                self.placed.append((pod, node))
            else:
                blocked.append(pod)
                reasons = reasons or why
        have = len([pod for pod in self._held if not terminating(pod)]) + len(self._done)
        self.short = bool(self.pods) and len(self._held) + len(self._done) + len(self.placed) < self._least
        if have + len(self.placed) >= self._least:
            return
        self.short = self.short or bool(self._waiting)
        whole = have + len(self._waiting) >= self._least
        for pod, node in self.placed:
            self._room.give_back(pod, node)
            self.refused.append((pod, "Schedulable" if whole else "Unschedulable"))
        self.refused += [(pod, "Unschedulable") for pod in blocked]
        self.lacking = len(blocked) if whole else len(self.pods)
        self.because = self.state = self._told(blocked, reasons)
        self.placed = []

    def _told(self, blocked: list[Obj], reasons: Counter[str]) -> str:
        states = Counter(_task_state(pod) for pod in self.pods)
        told = ", ".join(f"{states[key]} {key}" for key in ("Releasing", "Failed", "Pending", "Running") if states[key])
        told = f"pod group is not ready, {told}, {self._least} minAvailable"
        if not self.refused:
            return told
        verdicts = Counter(reason for _, reason in self.refused)
        judged = ", ".join(f"{verdicts[key]} {key}" for key in ("Unschedulable", "Schedulable") if verdicts[key])
        told = f"{told}; Pending: {judged}"
        if blocked and reasons:
            why = why_unschedulable(len(self._room.nodes), reasons).replace("available", "unavailable")
            told = f"{told}. Origin reason is {blocked[0]['metadata']['name']}: {why}"
        return told

    def count(self, wanted: str) -> int:
        """Return how many pods are in a phase, those being deleted left out."""
        return sum(phase(pod) == wanted and not terminating(pod) for pod in self.pods)

    def phase(self, before: str) -> str:
        """Return the group's phase at the end of the session."""
        if self.short and self.count("Running"):
            return "Unknown"
        if self.pods and self.count("Failed") + self.count("Succeeded") == len(self.pods):
            return "Completed"
        if len(self._held) + len(self._done) >= self._least:
            return "Running"
        return "Inqueue" if before in {"Pending", "Inqueue"} else "Pending"


def _task_state(pod: Obj) -> str:
    return "Releasing" if terminating(pod) else phase(pod)


def _put(status: Obj, key: str, count: int) -> None:
    if count:
        status[key] = count
    else:
        status.pop(key, None)
