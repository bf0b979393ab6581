"""The training operator's PyTorchJob v1 controller.

Rules from kubeflow/trainer v1.9.3 pkg/controller.v1/{common/job.go,common/pod.go,pytorch/pytorchjob_controller.go} and
pkg/util/status.go. Not here: elastic policies with an HPA, gang scheduling, the workers' init container.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta

from ..server import kinds
from ..server.kinds import Kind
from ..server.objects import Obj, copied, instant, labels_of, read_instant
from ..server.store import EventType
from .cluster import Change, Cluster
from .loop import Key, Steps
from .pods import condition, exit_codes, holds, phase, terminating
from .pytorchjob_objects import LABEL, OPERATOR, pod_of, selector, service_of
from .pytorchjob_status import Status

_SOON = timedelta(milliseconds=5)
_MINE = {None, "", "kubeflow.org/training-operator"}
_RETRYABLE = 128


Order = Callable[[Obj], Sequence[str]]
"""Puts a job's roles in the order in which one sync goes through them; the real one iterates over a Go map."""


def by_role(job: Obj) -> Sequence[str]:
    """Put the master first."""
    return sorted(job["spec"]["pytorchReplicaSpecs"])


class PyTorchJobController:
    """Keys are namespace/name; one sync deletes or makes one object after another."""

    pace = 2.5  # as the traces show its creates apart

    def __init__(self, cluster: Cluster, order: Order = by_role, lag: timedelta = _SOON) -> None:
        self._cluster = cluster
        self._order = order
        self._lag = lag

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Jobs whose spec changed, and their pods and services."""
        meta = change.object["metadata"]
        if change.kind is kinds.PYTORCH_JOB:
            if change.was is None or change.was["metadata"].get("generation") != meta.get("generation"):
                yield Key(f"{meta['namespace']}/{meta['name']}"), self._lag
        elif change.kind in {kinds.POD, kinds.SERVICE}:
            for owner in meta.get("ownerReferences") or ():
                if owner["kind"] == "PyTorchJob" and change.type in set(EventType):
                    yield Key(f"{meta['namespace']}/{owner['name']}"), self._lag

    def sync(self, key: Key) -> Steps:
        """Bring one job forward."""
        job = self._cluster.at(kinds.PYTORCH_JOB, key)
        if job is None or terminating(job) or _policy(job).get("managedBy") not in _MINE:
            return None
        return (yield from _Sync(self._cluster, job, self._order(job)).steps())


class _Sync(Status):
    """One pass over one job."""

    def __init__(self, cluster: Cluster, job: Obj, roles: Sequence[str]) -> None:
        super().__init__(cluster, job, {role: job["spec"]["pytorchReplicaSpecs"][role] for role in roles})
        self._pods = {pod["metadata"]["name"]: pod for pod in cluster.owned(job, kinds.POD)}
        self._services = {one["metadata"]["name"]: one for one in cluster.owned(job, kinds.SERVICE)}

    def steps(self) -> Steps:
        """Finished, suspended, or at work."""
        before = copied(self._status)
        if not self._status.get("conditions"):
            self._set("Created", "True", "PyTorchJobCreated", f"PyTorchJob {self._name} is created.")
        if holds(self._job, "Failed") or holds(self._job, "Succeeded"):
            yield from self._clean()
        elif _policy(self._job).get("suspend"):
            yield from self._suspend()
        else:
            self._resume()
            if self._has_run_out():
                self._fail(f"PyTorchJob {self._name} has failed because it has reached the specified backoff limit")
                yield from self._clean()
            else:
                yield from self._reconcile()
        if self._status != before:
            self._cluster.set_status(kinds.PYTORCH_JOB, self._job)
        return None

    def _clean(self) -> Steps:
        match _policy(self._job).get("cleanPodPolicy") or "None":
            case "None":
                return None
            case "Running":
                yield from self._delete_all(pod for pod in self._pods.values() if phase(pod) in {"Running", "Pending"})
            case _:
                yield from self._delete_all(self._pods.values())
        return None

    def _delete_all(self, pods: Iterable[Obj]) -> Steps:
        for pod in list(pods):
            yield from self._delete(kinds.POD, pod)
            if pod["metadata"]["name"] in self._services:
                yield from self._delete(kinds.SERVICE, self._services[pod["metadata"]["name"]])
        return None

    def _delete(self, kind: Kind, obj: Obj) -> Steps:
        if terminating(obj):
            return None
        self._cluster.delete(kind, obj)
        what = f"Deleted {kind.kind.lower()}: {obj['metadata']['name']}"
        self._cluster.tell(self._job, f"SuccessfulDelete{kind.kind}", what, source=OPERATOR)
        yield
        return None

    def _suspend(self) -> Steps:
        yield from self._delete_all(self._pods.values())
        for name, service in self._services.items():
            if name not in self._pods:
                yield from self._delete(kinds.SERVICE, service)
        self._status["replicaStatuses"] = {role: {} for role in self._roles}
        told = f"PyTorchJob {self._name} is suspended."
        if holds(self._job, "Running"):
            self._set("Running", "False", "PyTorchJobSuspended", told)
        if not holds(self._job, "Suspended"):
            self._set("Suspended", "True", "PyTorchJobSuspended", told)
            self._cluster.tell(self._job, "PyTorchJobSuspended", told, source=OPERATOR)
        return None

    def _resume(self) -> None:
        if holds(self._job, "Suspended"):
            told = f"PyTorchJob {self._name} is resumed."
            self._set("Suspended", "False", "PyTorchJobResumed", told)
            self._status["startTime"] = instant(self._now)
            self._cluster.tell(self._job, "PyTorchJobResumed", told, source=OPERATOR)

    def _has_run_out(self) -> bool:
        policy = _policy(self._job)
        limit, deadline = policy.get("backoffLimit"), policy.get("activeDeadlineSeconds")
        since = self._status.get("startTime")
        if deadline is not None and since and self._now - read_instant(since) >= timedelta(seconds=deadline):
            return True
        if limit is None:
            return False
        restarts: int = sum(
            one.get("restartCount", 0)
            for pod in self._pods.values()
            if pod["spec"].get("restartPolicy") in {"OnFailure", "Always"} and phase(pod) == "Running"
            for one in pod["status"].get("containerStatuses") or ()
        )
        return restarts >= max(int(limit), 1)

    def _reconcile(self) -> Steps:
        self._status.setdefault("startTime", instant(self._now))
        counts: Obj = {}
        for role, replica in self._roles.items():
            counts[role] = {}
            for pod in self._too_many(role, replica):
                yield from self._delete_all([pod])
            for index in range(replica.get("replicas", 1)):
                yield from self._reconcile_one(role, replica, index, counts[role])
        self._status["replicaStatuses"] = {
            role: {key: count for key, count in one.items() if count} | {"selector": selector(self._name, role)}
            for role, one in counts.items()
        }
        self._judge(counts)
        return None

    def _too_many(self, role: str, replica: Obj) -> Iterator[Obj]:
        for pod in self._pods.values():
            labels = labels_of(pod)
            mine = labels.get(f"{LABEL}replica-type") == role.lower()
            if mine and int(labels[f"{LABEL}replica-index"]) >= replica.get("replicas", 1):
                yield pod

    def _reconcile_one(self, role: str, replica: Obj, index: int, count: dict[str, int]) -> Steps:
        name = f"{self._name}-{role.lower()}-{index}"
        pod = self._pods.get(name)
        if pod is None:
            self._cluster.create(kinds.POD, pod_of(self._job, role, replica, index))
            self._cluster.tell(self._job, "SuccessfulCreatePod", f"Created pod: {name}", source=OPERATOR)
            yield
        else:
            yield from self._look_at(pod, role, replica, count)
        if name not in self._services:
            self._cluster.create(kinds.SERVICE, service_of(self._job, role, index))
            self._cluster.tell(self._job, "SuccessfulCreateService", f"Created service: {name}", source=OPERATOR)
            yield
        return None

    def _look_at(self, pod: Obj, role: str, replica: Obj, count: dict[str, int]) -> Steps:
        codes = exit_codes(pod)
        where = f"Pod: {pod['metadata']['namespace']}.{pod['metadata']['name']}"
        if phase(pod) == "Failed" and codes:
            told = f"{where} exited with code {codes[0]}"
            self._cluster.tell(self._job, "ExitedWithCode", told, source=OPERATOR)
        if replica.get("restartPolicy") == "ExitCode" and phase(pod) == "Failed" and codes:
            if codes[0] >= _RETRYABLE:
                told = f"job {self._name} is restarting because {role} replica(s) failed."
                self._cluster.tell(self._job, "PyTorchJobRestarting", told, source=OPERATOR, warning=True)
                yield from self._delete(kinds.POD, pod)
            else:
                told = f'job "{self._name}" is failing because "{role}" replica(s) failed.'
                self._cluster.tell(self._job, "PyTorchJobFailed", told, source=OPERATOR, warning=True)
                self._set("Failed", "True", "PyTorchJobFailed", told)
        waits = condition(pod, "PodScheduled")
        if waits is not None and waits["status"] == "False":
            told = f"Error pod {pod['metadata']['name']} condition message: {waits.get('message', '')}"
            self._cluster.tell(self._job, "Unschedulable", told, source=OPERATOR, warning=True)
        match phase(pod):
            case "Running":
                what = "failed" if terminating(pod) else "active"
                count[what] = count.get(what, 0) + 1
            case "Failed":
                count["failed"] = count.get("failed", 0) + 1
            case "Succeeded":
                count["succeeded"] = count.get("succeeded", 0) + 1
        return None


def _policy(job: Obj) -> Obj:
    policy: Obj = job["spec"].get("runPolicy") or {}
    return policy
