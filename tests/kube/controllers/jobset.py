"""The JobSet controller: child Jobs per attempt, failure policies, suspend and resume.

Rules from sigs.k8s.io/jobset pkg/controllers/{jobset_controller.go,failure_policy.go}. Not here: startup order, the
coordinator, in-place restarts, success policies other than All.
"""

from collections.abc import Iterable
from datetime import timedelta

from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.objects import Obj, copied, labels_of
from ..server.store import EventType
from .cluster import Change, Cluster
from .jobset_child import ATTEMPT, ROLE, job_of, service_of
from .jobset_policy import failed_at, has_ended, is_ready, takes
from .loop import Key, Steps
from .pods import by_name, condition, holds, set_condition, terminating

_SOON = timedelta(milliseconds=5)
_SOURCE = "jobset"
_IGNORING_MAX = "RestartJobSetAndIgnoreMaxRestarts"


class JobSetController:
    """Keys are namespace/name."""

    pace = 2.5  # as the traces show its writes apart

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """JobSets, and the Jobs they own."""
        meta = change.object["metadata"]
        if change.kind is kinds.JOB_SET and change.type is not EventType.DELETED:
            yield Key(f"{meta['namespace']}/{meta['name']}"), _SOON
        elif change.kind is kinds.JOB:
            for owner in meta.get("ownerReferences") or ():
                if owner["kind"] == "JobSet":
                    yield Key(f"{meta['namespace']}/{owner['name']}"), _SOON

    def sync(self, key: Key) -> Steps:
        """Bring one JobSet forward."""
        job_set = self._cluster.at(kinds.JOB_SET, key)
        if job_set is None or terminating(job_set):
            return None
        if job_set["spec"].get("managedBy") not in {None, "jobset.sigs.k8s.io/jobset-controller"}:
            return None
        return (yield from _Sync(self._cluster, job_set).steps())


class _Sync:
    """One pass over one JobSet."""

    def __init__(self, cluster: Cluster, job_set: Obj) -> None:
        self._cluster = cluster
        self._set = job_set
        self._status = job_set.setdefault("status", {})
        self._before = copied(self._status)
        self._now = cluster.now()
        self._jobs = by_name(cluster.owned(job_set, kinds.JOB))
        attempt = str(self._status.get("restarts", 0))
        self._current = [job for job in self._jobs if labels_of(job).get(ATTEMPT) == attempt]
        self._old = [job for job in self._jobs if job not in self._current]
        self._failed = [job for job in self._current if holds(job, "Failed")]

    def steps(self) -> Steps:
        """Count, then the first of: finished, failed, suspended or at work."""
        self._status.setdefault("restarts", 0)
        self._count()
        if holds(self._set, "Failed") or holds(self._set, "Completed"):
            yield from self._delete(job for job in self._current if not has_ended(job))
        elif self._failed:
            yield from self._delete(self._old)
            self._apply_failure_policy()
        elif self._all_complete():
            self._status["terminalState"] = "Completed"
            self._set_condition("Completed", "True", "AllJobsCompleted", "jobset completed successfully")
        else:
            yield from self._work()
        self._write()
        return None

    def _write(self) -> None:
        if self._status != self._before:
            self._cluster.set_status(kinds.JOB_SET, self._set)

    def _count(self) -> None:
        """Return one line per replicated job; counts are of child Jobs."""
        lines = []
        for role in self._set["spec"]["replicatedJobs"]:
            mine = [job for job in self._current if labels_of(job)[ROLE] == role["name"]]
            lines.append(
                {
                    "name": role["name"],
                    "active": sum(bool(job["status"].get("active")) for job in mine if "status" in job),
                    "ready": sum(is_ready(job) for job in mine),
                    "failed": sum(holds(job, "Failed") for job in mine),
                    "succeeded": sum(holds(job, "Complete") for job in mine),
                    "suspended": sum(bool(job["spec"].get("suspend")) for job in mine),
                }
            )
        known = {line["name"]: line for line in self._status.get("replicatedJobsStatus") or ()}
        if known != {line["name"]: line for line in lines}:
            self._status["replicatedJobsStatus"] = lines

    def _all_complete(self) -> bool:
        wanted: int = sum(role.get("replicas", 1) for role in self._set["spec"]["replicatedJobs"])
        return sum(holds(job, "Complete") for job in self._current) == wanted

    def _work(self) -> Steps:
        yield from self._delete(self._old)
        suspended = bool(self._set["spec"].get("suspend"))
        if suspended:
            yield from self._suspend()
        yield from self._furnish(suspended=suspended)
        if not suspended:
            yield from self._resume()
            ready = sum(line["ready"] for line in self._status["replicatedJobsStatus"])
            wanted = sum(role.get("replicas", 1) for role in self._set["spec"]["replicatedJobs"])
            if holds(self._set, "RestartingJobSet") and ready == wanted:
                self._set_condition("RestartingJobSet", "False", "JobsReady", "all jobs are ready")
        return None

    def _suspend(self) -> Steps:
        for job in self._current:
            if not job["spec"].get("suspend") and not has_ended(job):
                job["spec"]["suspend"] = True
                self._cluster.update(kinds.JOB, job)
                yield
        self._set_condition("Suspended", "True", "SuspendedJobs", "jobset is suspended")
        return None

    def _resume(self) -> Steps:
        """Wake suspended Jobs, with what the template says of scheduling by now: merged in, nothing taken out."""
        for job in self._current:
            if job["spec"].get("suspend") and not has_ended(job) and not terminating(job):
                if "startTime" in job.get("status", {}):
                    del job["status"]["startTime"]
                    job = self._cluster.set_status(kinds.JOB, job)  # noqa: PLW2901 - the fresh version of it
                    yield
                self._merge_template(job)
                job["spec"]["suspend"] = False
                self._cluster.update(kinds.JOB, job)
                yield
        if holds(self._set, "Suspended"):
            self._set_condition("Suspended", "False", "ResumeJobs", "jobset is resumed")
        return None

    def _merge_template(self, job: Obj) -> None:
        role = next(one for one in self._set["spec"]["replicatedJobs"] if one["name"] == labels_of(job)[ROLE])
        wanted, pod = role["template"]["spec"]["template"], job["spec"]["template"]
        for field in ("labels", "annotations"):
            merged = {**(pod["metadata"].get(field) or {}), **((wanted.get("metadata") or {}).get(field) or {})}
            if merged:
                pod["metadata"][field] = merged
        selector = {**(pod["spec"].get("nodeSelector") or {}), **(wanted["spec"].get("nodeSelector") or {})}
        if selector:
            pod["spec"]["nodeSelector"] = selector
        mine = pod["spec"].get("tolerations") or []
        extra = [one for one in wanted["spec"].get("tolerations") or () if one not in mine]
        if extra:
            pod["spec"]["tolerations"] = [*mine, *extra]

    def _furnish(self, *, suspended: bool) -> Steps:
        """Make the service and the Jobs that are missing; a name that is still taken is tried again later."""
        meta = self._set["metadata"]
        if self._cluster.find(kinds.SERVICE, meta["namespace"], meta["name"]) is None:
            self._cluster.create(kinds.SERVICE, service_of(self._set))
            yield
        strategy = (self._set["spec"].get("failurePolicy") or {}).get("restartStrategy")
        if strategy == "BlockingRecreate" and self._old:
            return None
        taken = {job["metadata"]["name"] for job in self._jobs}
        for role in self._set["spec"]["replicatedJobs"]:
            for index in range(role.get("replicas", 1)):
                if f"{meta['name']}-{role['name']}-{index}" not in taken:
                    self._cluster.create(kinds.JOB, job_of(self._set, role, index, suspended=suspended))
                    yield
        return None

    def _delete(self, jobs: Iterable[Obj]) -> Steps:
        for job in list(jobs):
            if not terminating(job):
                uid = job["metadata"]["uid"]
                self._cluster.delete(kinds.JOB, job, DeleteOptions(uid=uid, propagation="Foreground"))
                yield
        return None

    def _apply_failure_policy(self) -> None:
        """Fail the set, or start another attempt."""
        policy = self._set["spec"].get("failurePolicy")
        first = min(self._failed, key=failed_at)
        who = f"(first failed job: {first['metadata']['name']})"
        if policy is None:
            self._fail("FailedJobs", f"jobset failed due to one or more job failures {who}")
            return
        rule = next((rule for rule in policy.get("rules") or () if takes(rule, first)), None)
        action = "RestartJobSet" if rule is None else rule["action"]
        reason = "DefaultFailurePolicy" if rule is None else f"FailurePolicy_{rule['name']}"
        if action == "FailJobSet":
            self._fail("FailJobSetFailurePolicyAction", f"jobset failed due to FailJobSet failure policy action {who}")
            return
        counted = self._status.get("restartsCountTowardsMax", 0)
        if action != _IGNORING_MAX:
            if counted >= policy.get("maxRestarts", 0):
                self._fail("ReachedMaxRestarts", f"jobset failed due to reaching max number of restarts {who}")
                return
            self._status["restartsCountTowardsMax"] = counted + 1
        self._status["restarts"] += 1
        told = f"applying {action} failure policy action {who}"
        self._set_condition("RestartingJobSet", "True", reason, told)
        self._tell(f"{action}FailurePolicyAction", told)

    def _fail(self, reason: str, told: str) -> None:
        self._status["terminalState"] = "Failed"
        if holds(self._set, "RestartingJobSet"):
            self._set_condition("RestartingJobSet", "False", "JobSetFailed", "jobset failed")
        if condition(self._set, "RestartingJobSet") is not None:
            self._set_condition("RestartingJobSet", "False", "JobSetFailed", "jobset failed")
        self._set_condition("Failed", "True", reason, told)

    def _set_condition(self, kind: str, status: str, reason: str, told: str) -> None:
        if set_condition(self._set, kind, status, reason=reason, message=told, now=self._now):
            self._tell(reason, told)

    def _tell(self, reason: str, told: str) -> None:
        self._cluster.tell(self._set, reason, told, source=_SOURCE, warning=reason.startswith("Fail"))
