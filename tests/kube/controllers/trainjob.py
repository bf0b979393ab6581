"""The Trainer v2 controller: one JobSet per TrainJob, made from its runtime, its trainer and its runtimePatches.

Rules from kubeflow/trainer pkg/controller/trainjob_controller.go and pkg/runtime/framework/plugins/{jobset,torch}.
Not here: initializers, gang plugins, MPI, trainerStatus.
"""

from collections.abc import Iterable
from datetime import timedelta

from ..server import kinds
from ..server.errors import ApiError
from ..server.objects import Obj, copied
from .cluster import Change, Cluster
from .loop import Key, Steps
from .pods import condition, holds, owner_ref, set_condition, terminating

_SOON = timedelta(milliseconds=4)
_AGAIN = timedelta(seconds=5)
_SOURCE = "trainer-trainjob-controller"
_MINE = {None, "", "trainer.kubeflow.org/trainjob-controller"}
_PORT = 29500
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


class TrainJobController:
    """Keys are namespace/name."""

    pace = 2.0

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """TrainJobs, and the JobSets they own."""
        meta = change.object["metadata"]
        if change.kind is kinds.TRAIN_JOB:
            yield Key(f"{meta['namespace']}/{meta['name']}"), _SOON
        elif change.kind is kinds.JOB_SET:
            for owner in meta.get("ownerReferences") or ():
                if owner["kind"] == "TrainJob":
                    yield Key(f"{meta['namespace']}/{owner['name']}"), _SOON

    def sync(self, key: Key) -> Steps:
        """Bring the JobSet in line unless the job has ended, then tell what became of it."""
        job = self._cluster.at(kinds.TRAIN_JOB, key)
        if job is None or terminating(job) or job["spec"].get("managedBy") not in _MINE:
            return None
        again: timedelta | None = None
        if not (holds(job, "Failed") or holds(job, "Complete")):
            try:
                yield from self._apply(job)
            except ApiError as refused:
                if refused.code == 409:
                    raise
                again = _AGAIN
                told = f"TrainJob resources reconciliation failed: {refused.message}"
                self._cluster.tell(job, "TrainJobResourcesCreationFailed", told, source=_SOURCE, warning=True)
        before = copied(job.get("status", {}))
        self._tell_status(job)
        if job["status"] != before:
            self._cluster.force_status(kinds.TRAIN_JOB, job)
        return again

    def _apply(self, job: Obj) -> Steps:
        """Make the JobSet, or update one that is or will be suspended; a running one is left alone."""
        meta = job["metadata"]
        wanted = _job_set_of(job, self._runtime_of(job))
        found = self._cluster.find(kinds.JOB_SET, meta["namespace"], meta["name"])
        yield
        if found is None:
            self._cluster.create(kinds.JOB_SET, wanted)
            yield
            return None
        if not found["spec"].get("suspend") and not job["spec"].get("suspend"):
            return None
        roles = {role["name"]: role for role in wanted["spec"]["replicatedJobs"]}
        changed = copied(found)
        changed["spec"]["suspend"] = wanted["spec"]["suspend"]
        for role in changed["spec"]["replicatedJobs"]:
            mine, new = (
                role["template"]["spec"]["template"]["spec"],
                roles[role["name"]]["template"]["spec"]["template"],
            )
            for field in ("nodeSelector", "tolerations", "affinity", "schedulingGates"):
                mine.pop(field, None)
                if field in new["spec"]:
                    mine[field] = new["spec"][field]
        if changed != found:
            self._cluster.update(kinds.JOB_SET, changed)
            yield
        return None

    def _runtime_of(self, job: Obj) -> Obj:
        ref = job["spec"]["runtimeRef"]
        if ref.get("kind") == "TrainingRuntime":
            return self._cluster.store.get(kinds.TRAINING_RUNTIME, ref["name"], job["metadata"]["namespace"])
        return self._cluster.store.get(kinds.CLUSTER_TRAINING_RUNTIME, ref["name"])

    def _tell_status(self, job: Obj) -> None:
        meta, status, now = job["metadata"], job.setdefault("status", {}), self._cluster.now()
        if job["spec"].get("suspend"):
            told = "TrainJob is suspended"
            set_condition(job, "Suspended", "True", reason="Suspended", message=told, now=now)
        elif holds(job, "Suspended"):
            told = "TrainJob is resumed"
            set_condition(job, "Suspended", "False", reason="Resumed", message=told, now=now)
        job_set = self._cluster.find(kinds.JOB_SET, meta["namespace"], meta["name"])
        counts = None if job_set is None else job_set.get("status", {}).get("replicatedJobsStatus")
        if counts:
            status["jobsStatus"] = counts
        elif not (holds(job, "Failed") or holds(job, "Complete")):
            status.pop("jobsStatus", None)
        for theirs, ours in (("Failed", "Failed"), ("Completed", "Complete")):
            ended = None if job_set is None else condition(job_set, theirs)
            if ended is not None and ended["status"] == "True":
                told = ended.get("message", "")
                set_condition(job, ours, "True", reason=ended["reason"], message=told, now=now)


def _job_set_of(job: Obj, runtime: Obj) -> Obj:
    template = copied(runtime["spec"]["template"])
    spec = template["spec"]
    for role in spec["replicatedJobs"]:
        step = ((role["template"].get("metadata") or {}).get("labels") or {}).get(_STEP)
        if step == "trainer":
            _set_trainer(job, role)
    for patch in job["spec"].get("runtimePatches") or ():
        told = patch.get("trainingRuntimeSpec", {}).get("template", {}).get("spec", {})
        for wanted in told.get("replicatedJobs") or ():
            for role in spec["replicatedJobs"]:
                if role["name"] == wanted["name"]:
                    _merge_pod(role["template"]["spec"]["template"], wanted["template"]["spec"]["template"])
    spec["suspend"] = bool(job["spec"].get("suspend"))
    meta = job["metadata"]
    return {
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "ownerReferences": [owner_ref(job)],
        },
        "spec": spec,
    }


def _set_trainer(job: Obj, role: Obj) -> None:
    """Put the trainer's image, command, resources and node count into the replicated job, and what torchrun reads."""
    trainer = job["spec"].get("trainer") or {}
    inner = role["template"]["spec"]
    nodes = trainer.get("numNodes", 1)
    inner |= {"parallelism": nodes, "completions": nodes, "completionMode": "Indexed"}
    for container in inner["template"]["spec"]["containers"]:
        if container["name"] != "node":
            continue
        container |= {key: trainer[key] for key in ("image", "command", "args") if key in trainer}
        if "resourcesPerNode" in trainer:
            container["resources"] = trainer["resourcesPerNode"]
        field = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
        first = f"{job['metadata']['name']}-{role['name']}-0-0.{job['metadata']['name']}"
        container["env"] = [
            *(trainer.get("env") or ()),
            {"name": "PET_NNODES", "value": str(nodes)},
            {"name": "PET_NPROC_PER_NODE", "value": str(trainer.get("numProcPerNode", "auto"))},
            {"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": field}}},
            {"name": "PET_MASTER_ADDR", "value": first},
            {"name": "PET_MASTER_PORT", "value": str(_PORT)},
        ]
        container["ports"] = [{"containerPort": _PORT, "protocol": "TCP"}]


def _merge_pod(pod: Obj, patch: Obj) -> None:
    meta = pod.setdefault("metadata", {})
    for field in ("labels", "annotations"):
        told = (patch.get("metadata") or {}).get(field)
        if told:
            meta[field] = {**(meta.get(field) or {}), **told}
    mine, theirs = pod["spec"], patch.get("spec") or {}
    if theirs.get("nodeSelector"):
        mine["nodeSelector"] = {**(mine.get("nodeSelector") or {}), **theirs["nodeSelector"]}
    for field in ("tolerations", "schedulingGates"):
        if theirs.get(field):
            mine[field] = [*(mine.get(field) or ()), *theirs[field]]
    if theirs.get("affinity"):
        mine["affinity"] = theirs["affinity"]
