"""One pass of the Volcano job controller over one job: a sync that makes pods, or a kill that raises the version."""

from collections.abc import Iterable

from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.kinds import Kind
from ..server.objects import Obj, copied, instant
from .cluster import Cluster
from .loop import Steps
from .pods import by_name, finished, phase, terminating
from .volcano_objects import group_of, pod_name, pod_of, service_of
from .volcano_request import TARGETED, TASK, Action, Request
from .volcano_state import Pass, Phase, Plan

SOURCE = "vc-controller-manager"
_COUNTS = ("pending", "running", "succeeded", "failed", "unknown", "terminating")
_KEPT_CONDITIONS = 5


class VolcanoPass:
    """One pass over one job."""

    def __init__(self, cluster: Cluster, job: Obj) -> None:
        self._cluster = cluster
        self._job = job
        self._status = job.setdefault("status", {})
        self._now = cluster.now()
        self._pods = by_name(cluster.owned(job, kinds.POD))
        self._group: Obj = {}

    def carry_out(self, plan: Plan, request: Request, action: Action) -> Steps:
        """Do the pass and write the status."""
        before = copied(self._status)
        if action is not Action.SYNC:
            self._cluster.tell(self._job, "ExecuteAction", f"Start to execute action {action} ", source=SOURCE)
        match plan.what:
            case Pass.KILL:
                yield from self._kill(self._pods, plan)
                yield from self._take_down(kinds.POD_GROUP, kinds.SERVICE)
                self._status["version"] = self._status.get("version", 0) + 1
            case Pass.KILL_TARGET:
                yield from self._kill(self._targets(request, action), plan)
                yield from self._take_down(kinds.SERVICE)
            case Pass.SYNC:
                yield from self._sync()
        if plan.retry:
            self._status["retryCount"] = self._status.get("retryCount", 0) + 1
        turned = plan.turn(self._job["spec"], self._status)
        if turned is not None:
            self._enter(turned)
        if self._status != before:
            self._cluster.set_status(kinds.VOLCANO_JOB, self._job)
            yield
        return None

    def _targets(self, request: Request, action: Action) -> list[Obj]:
        """A Command names neither task nor pod, so it hits none."""
        if action not in TARGETED or not request.task:
            return []
        mine = [pod for pod in self._pods if pod["metadata"]["annotations"][TASK] == request.task]
        if action is Action.RESTART_POD:
            return [pod for pod in mine if pod["metadata"]["name"] == request.pod]
        return mine

    def _kill(self, pods: Iterable[Obj], plan: Plan) -> Steps:
        hit = 0
        last = plan.retry and self._status.get("retryCount", 0) + 1 >= self._job["spec"]["maxRetry"]
        for pod in pods:
            if (plan.keep_ended or last) and finished(pod) and not terminating(pod):
                continue
            if not terminating(pod):
                self._cluster.delete(kinds.POD, pod)
                yield
            hit += 1
        self._recount({"terminating": hit})
        return None

    def _take_down(self, *of: Kind) -> Steps:
        """Remove the pod group, the service; a later sync makes them anew."""
        for kind in of:
            for owned in self._cluster.owned(self._job, kind):
                self._cluster.delete(kind, owned, DeleteOptions(uid=owned["metadata"]["uid"]))
                yield
        return None

    def _sync(self) -> Steps:
        here = self._status.get("state", {}).get("phase")
        if not here:
            self._status["minAvailable"] = self._job["spec"]["minAvailable"]
            self._enter(Phase.PENDING)
            self._job = self._cluster.set_status(kinds.VOLCANO_JOB, self._job)
            self._status = self._job["status"]
            yield
        yield from self._furnish()
        self._status["minAvailable"] = self._job["spec"]["minAvailable"]
        if self._group.get("status", {}).get("phase", "Pending") == "Pending":
            return None
        yield from self._place_pods()
        return None

    def _furnish(self) -> Steps:
        """Make what is missing of service and pod group."""
        meta = self._job["metadata"]
        services = {one["metadata"]["name"] for one in self._cluster.owned(self._job, kinds.SERVICE)}
        wants = "svc" in (self._job["spec"].get("plugins") or {}) and self._status["state"]["phase"] == Phase.PENDING
        if wants and meta["name"] not in services:
            self._cluster.create(kinds.SERVICE, service_of(self._job))
            yield
        name = f"{meta['name']}-{meta['uid']}"
        group = self._cluster.find(kinds.POD_GROUP, meta["namespace"], name)
        if group is None:
            group = self._cluster.create(kinds.POD_GROUP, group_of(self._job))
            yield
        elif group["spec"]["minMember"] != self._job["spec"]["minAvailable"]:
            group["spec"]["minMember"] = self._job["spec"]["minAvailable"]
            group = self._cluster.update(kinds.POD_GROUP, group)
            yield
        self._group = group
        return None

    def _place_pods(self) -> Steps:
        """Make the pods that are missing, delete those beyond the replicas, count."""
        counts: dict[str, int] = {}
        tasks: Obj = {}
        there = {pod["metadata"]["name"]: pod for pod in self._pods}
        for task in self._job["spec"]["tasks"]:
            for index in range(task["replicas"]):
                pod = there.pop(pod_name(self._job, task, index), None)
                if pod is None:
                    pod = self._cluster.create(kinds.POD, pod_of(self._job, task, index))
                    yield
                _count(pod, task["name"], counts, tasks)
        for pod in there.values():
            if not terminating(pod):
                self._cluster.delete(kinds.POD, pod)
                yield
            counts["terminating"] = counts.get("terminating", 0) + 1
        self._recount(counts, tasks)
        return None

    def _recount(self, counts: dict[str, int], tasks: Obj | None = None) -> None:
        for key in _COUNTS:
            self._status.pop(key, None)
        self._status.pop("taskStatusCount", None)
        self._status |= {key: count for key, count in counts.items() if count}
        if tasks:
            self._status["taskStatusCount"] = tasks

    def _enter(self, phase: Phase) -> None:
        if self._status.get("state", {}).get("phase") == phase:
            return
        since = instant(self._now)
        self._status["state"] = {"phase": str(phase), "lastTransitionTime": since}
        conditions = [one for one in self._status.get("conditions") or () if one["status"] != phase]
        conditions.append({"status": str(phase), "lastTransitionTime": since})
        self._status["conditions"] = conditions[-_KEPT_CONDITIONS:]


def _count(pod: Obj, task: str, counts: dict[str, int], tasks: Obj) -> None:
    if terminating(pod):
        counts["terminating"] = counts.get("terminating", 0) + 1
        return
    key = phase(pod).lower()
    counts[key] = counts.get(key, 0) + 1
    of_task = tasks.setdefault(task, {"phase": {}})["phase"]
    of_task[phase(pod)] = of_task.get(phase(pod), 0) + 1
