"""One pass of the Job controller over one Job, on what was there at its start."""

from collections.abc import Sequence
from datetime import timedelta

from ..server import kinds
from ..server.objects import Obj, copied, instant, read_instant
from .cluster import Cluster
from .job_backoff import Backoff, Order
from .job_pods import TRACKED, finalizers, index_of, pod_of
from .job_policy import failure_to_stop_for, ignored, only_failed_replaced
from .loop import Steps
from .pods import by_name, condition, finished, holds, phase, ready, set_condition, terminating

SOURCE = "job-controller"


class JobPass:
    """One pass over one job, on what was there at its start."""

    def __init__(self, cluster: Cluster, job: Obj, backoff: Backoff, order: Order) -> None:
        self.job = job
        self.backoff = backoff
        self._order = order
        self.pods = by_name(cluster.owned(job, kinds.POD))
        self._cluster = cluster
        self._now = cluster.now()
        self.active = [pod for pod in self.pods if not finished(pod) and not terminating(pod)]
        self.dying = [pod for pod in self.pods if not finished(pod) and terminating(pod)]
        self._strict = only_failed_replaced(job)
        self.failed = [pod for pod in self.pods if self._is_failed(pod) and TRACKED in finalizers(pod)]
        self.failed = [pod for pod in self.failed if not ignored(job, pod)]
        self.succeeded = [pod for pod in self.pods if phase(pod) == "Succeeded" and TRACKED in finalizers(pod)]

    def _is_failed(self, pod: Obj) -> bool:
        if phase(pod) == "Failed":
            return True
        return not self._strict and terminating(pod) and phase(pod) != "Succeeded"

    def steps(self) -> Steps:
        """Decide, act on pods, write the status, take finalizers off, write again."""
        job, spec = self.job, self.job["spec"]
        status = job.setdefault("status", {})
        before = copied(status)
        suspended = bool(spec.get("suspend"))
        if terminating(job):
            return (yield from self._let_pods_go(before))
        if not suspended and "startTime" not in status:
            status["startTime"] = instant(self._now)
        stop = self._reason_to_stop()
        if stop is not None:
            return (yield from self._stop(stop, before))
        if suspended:
            yield from self._suspend()
        else:
            self._resume()
            wait = yield from self._fill(before)
            if wait is not None:
                return wait
        return (yield from self._report(before))

    def _reason_to_stop(self) -> tuple[str, str] | None:
        job, status = self.job, self.job["status"]
        told = condition(job, "FailureTarget")
        if told is not None and told["status"] == "True":
            return told["reason"], told.get("message", "")
        found = failure_to_stop_for(job, self.failed)
        if found is not None:
            return "PodFailurePolicy", found
        count = status.get("failed", 0) + len(self.failed)
        if count > job["spec"].get("backoffLimit", 6) and len(self.failed) > 0:
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        limit = job["spec"].get("activeDeadlineSeconds")
        since = status.get("startTime")
        if limit is not None and since and self._now - read_instant(since) >= timedelta(seconds=limit):
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        return None

    def _stop(self, why: tuple[str, str], before: Obj) -> Steps:
        """Delete what runs; Failed only when nothing terminates any more."""
        reason, message = why
        for pod in self.active:
            self._cluster.delete(kinds.POD, pod)
            yield
            self._told("SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
        self.failed = [pod for pod in [*self.failed, *self.active] if TRACKED in finalizers(pod)]
        self.dying += self.active
        self.active = []
        set_condition(self.job, "FailureTarget", "True", reason=reason, message=message, now=self._now)
        yield from self._report(before)
        if not self.dying and not self.failed:
            yield
            found = self._cluster.find(kinds.JOB, self.job["metadata"]["namespace"], self.job["metadata"]["name"])
            if found is not None and found["metadata"]["uid"] == self.job["metadata"]["uid"]:
                set_condition(found, "Failed", "True", reason=reason, message=message, now=self._now)
                self._cluster.set_status(kinds.JOB, found)
                self._told(reason, message, warning=True)
        return None

    def _let_pods_go(self, before: Obj) -> Steps:
        """A job that is being deleted makes and counts no pods; the garbage collector deletes them."""
        for pod in self.pods:
            if TRACKED in finalizers(pod):
                self._cluster.drop_finalizer(kinds.POD, pod, TRACKED)
                yield
        self.failed = self.succeeded = []
        return (yield from self._report(before))

    def _suspend(self) -> Steps:
        """Take active pods out of the count first, then delete them."""
        for pod in self.active:
            self._cluster.drop_finalizer(kinds.POD, pod, TRACKED)
        yield
        for pod in self.active:
            self._cluster.delete(kinds.POD, pod)
            self._told("SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
        if self.active:
            yield
        self.dying += self.active
        self.active = []
        self.job["status"].pop("startTime", None)
        changed = set_condition(
            self.job, "Suspended", "True", reason="JobSuspended", message="Job suspended", now=self._now
        )
        if changed:
            self._told("Suspended", "Job suspended")
        return None

    def _resume(self) -> None:
        if holds(self.job, "Suspended"):
            set_condition(self.job, "Suspended", "False", reason="JobResumed", message="Job resumed", now=self._now)
            self.job["status"]["startTime"] = instant(self._now)
            self._told("Resumed", "Job resumed")

    def _fill(self, before: Obj) -> Steps:
        """Make the pods that are missing, or delete those too many; return a wait that puts off everything else."""
        spec = self.job["spec"]
        done = {index_of(pod) for pod in self.pods if phase(pod) == "Succeeded"} | _indexes(before)
        completions = spec.get("completions") or 1
        wanted = min(spec.get("parallelism", 1), completions - len(done))
        extra = [pod for pod in self.active if index_of(pod) >= completions]
        kept = sorted((pod for pod in self.active if pod not in extra), key=index_of)
        extra += kept[: max(len(kept) - wanted, 0)]
        if extra:
            yield from self._delete_extra(extra)
            return None
        held = len(self.dying) if self._strict else 0
        missing = self._missing(done, completions)[: max(wanted - len(self.active) - held, 0)]
        if not missing:
            return None
        wait = self.backoff.left(self._now)
        if wait > timedelta(0):
            return wait if self.active else (yield from self._wait_idle(before, wait))
        for index in self._order(self.job, missing):
            made = self._cluster.create(kinds.POD, pod_of(self.job, index))
            self.active.append(made)
            yield
            self._told("SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
        return None

    def _wait_idle(self, before: Obj, wait: timedelta) -> Steps:
        yield from self._report(before)
        return wait

    def _delete_extra(self, extra: Sequence[Obj]) -> Steps:
        for pod in extra:
            self._cluster.drop_finalizer(kinds.POD, pod, TRACKED)
            self._cluster.delete(kinds.POD, pod)
            self.active.remove(pod)
            self.dying.append(pod)
            yield
            self._told("SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
        return None

    def _missing(self, done: set[int], completions: int) -> list[int]:
        held = {index_of(pod) for pod in self.active}
        if self._strict:
            held |= {index_of(pod) for pod in self.dying}
        return [index for index in range(completions) if index not in held and index not in done]

    def _report(self, before: Obj) -> Steps:
        """Write counters, uncounted pods first; take their finalizers off; count them."""
        status = self.job["status"]
        _put(status, "active", len(self.active))
        status["ready"] = sum(ready(pod) for pod in self.active)
        status["terminating"] = len(self.dying)
        counted = status.get("uncountedTerminatedPods") or {}
        fresh = [pod["metadata"]["uid"] for pod in self.failed]
        fresh_done = [pod["metadata"]["uid"] for pod in self.succeeded]
        uncounted = {key: uids for key, uids in (("failed", fresh), ("succeeded", fresh_done)) if uids}
        status["uncountedTerminatedPods"] = uncounted
        if status == before and not counted:
            return None
        written = self._cluster.set_status(kinds.JOB, self.job)
        yield
        if not uncounted:
            return None
        for pod in [*self.failed, *self.succeeded]:
            self._cluster.drop_finalizer(kinds.POD, pod, TRACKED)
        yield
        self._count(written)
        return None

    def _count(self, job: Obj) -> None:
        status = job["status"]
        _put(status, "failed", status.get("failed", 0) + len(self.failed))
        _put(status, "succeeded", status.get("succeeded", 0) + len(self.succeeded))
        done = sorted(_indexes(status) | {index_of(pod) for pod in self.succeeded})
        if done:
            status["completedIndexes"] = ",".join(map(str, done))
        status["uncountedTerminatedPods"] = {}
        if len(done) == (job["spec"].get("completions") or 1) and not status.get("active"):
            status["completionTime"] = instant(self._now)
            set_condition(job, "SuccessCriteriaMet", "True", reason="CompletionsReached", now=self._now)
            set_condition(job, "Complete", "True", reason="CompletionsReached", now=self._now)
        self._cluster.set_status(kinds.JOB, job)

    def _told(self, reason: str, message: str, *, warning: bool = False) -> None:
        self._cluster.tell(self.job, reason, message, source=SOURCE, warning=warning)


def _indexes(status: Obj) -> set[int]:
    return {int(one) for one in status.get("completedIndexes", "").split(",") if one}


def _put(status: Obj, field: str, count: int) -> None:
    if count:
        status[field] = count
    else:
        status.pop(field, None)
