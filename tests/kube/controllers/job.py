"""The batch/v1 Job controller, Indexed jobs only: backoff, finalizers, suspend, failure policies.

Rules from k8s.io/kubernetes pkg/controller/job (job_controller.go, backoff_utils.go, indexed_job_utils.go); that a
single failure is not even counted before its backoff ends, while others run, is seen in the traces.
"""

from collections.abc import Iterable
from datetime import timedelta

from ..server import kinds
from ..server.store import EventType
from .cluster import Change, Cluster
from .job_backoff import Backoff, Order, by_index
from .job_pass import JobPass
from .job_pods import TRACKED, end_of, finalizers
from .loop import Key, Steps
from .pods import holds, phase

_SOON = timedelta(milliseconds=10)
_BATCH = timedelta(seconds=1)  # syncJobBatchPeriod
_BACKOFF = timedelta(seconds=10)  # DefaultJobPodFailureBackOff


class JobController:
    """Keys are namespace/name; pods count once, when their finalizer is taken off."""

    pace = 1.0

    def __init__(
        self,
        cluster: Cluster,
        order: Order = by_index,
        *,
        backoff: timedelta = _BACKOFF,
        batch: timedelta = _BATCH,
    ) -> None:
        self._cluster = cluster
        self._order = order
        self._backoff = backoff
        self._batch = batch
        self._backoffs: dict[str, Backoff] = {}
        self._seen_failed: dict[str, set[str]] = {}

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """A job's spec at once, its status and its pods a second later; pods whose job is going."""
        meta = change.object["metadata"]
        if change.kind is kinds.JOB:
            same = change.was is not None and change.was["metadata"].get("generation") == meta.get("generation")
            yield _key(meta["namespace"], meta["name"]), self._batch if same else _SOON
        elif change.kind is kinds.POD:
            for owner in meta.get("ownerReferences") or ():
                if owner["kind"] == "Job" and owner["apiVersion"] == "batch/v1" and owner.get("controller"):
                    yield _key(meta["namespace"], owner["name"]), self._batch
                    if change.type is not EventType.DELETED and meta.get("finalizers"):
                        yield Key(f"{meta['namespace']}/{meta['name']}#pod"), _SOON

    def sync(self, key: Key) -> Steps:
        """Bring one job forward, or let a pod go whose job is gone."""
        if key.endswith("#pod"):
            return self._free_orphan(key.removesuffix("#pod"))
        return self._sync_job(key)

    def _free_orphan(self, key: str) -> Steps:
        pod = self._cluster.at(kinds.POD, key)
        if pod is None or TRACKED not in (pod["metadata"].get("finalizers") or ()):
            return None
        refs = pod["metadata"].get("ownerReferences") or ()
        owner = next((ref for ref in refs if ref.get("controller")), None)
        job = None if owner is None else self._cluster.find(kinds.JOB, pod["metadata"]["namespace"], owner["name"])
        if owner is None or job is None or job["metadata"]["uid"] != owner["uid"]:
            self._cluster.drop_finalizer(kinds.POD, pod, TRACKED)
        return None
        yield

    def _sync_job(self, key: Key) -> Steps:
        job = self._cluster.at(kinds.JOB, key)
        if job is None:
            return None
        if holds(job, "Failed") or holds(job, "Complete"):
            return None
        if job["spec"].get("managedBy") not in {None, "kubernetes.io/job-controller"}:
            return None
        sync = JobPass(
            self._cluster, job, self._backoffs.setdefault(job["metadata"]["uid"], Backoff(self._backoff)), self._order
        )
        self._note_failures(sync)
        return (yield from sync.steps())

    def _note_failures(self, sync: JobPass) -> None:
        """Raise the backoff once for each failure."""
        seen = self._seen_failed.setdefault(sync.job["metadata"]["uid"], set())
        for pod in sync.failed:
            uid = pod["metadata"]["uid"]
            if uid not in seen:
                seen.add(uid)
                sync.backoff.failures += 1
            end = end_of(pod)
            sync.backoff.last = end if sync.backoff.last is None else max(sync.backoff.last, end)
        if any(phase(pod) == "Succeeded" and TRACKED in finalizers(pod) for pod in sync.pods):
            sync.backoff.failures = 0


def _key(namespace: str, name: str) -> Key:
    return Key(f"{namespace}/{name}")
