"""The objects of a big cluster, made at once: nodes, job objects of keepstep's, and their pods, each bound to its task.

What pods have in common is shared between them, which a store whose objects are never changed allows.
"""

from keepstep.adapters.kube_objects import MARK_PREFIX
from keepstep.contracts.ids import JobUid, Pool, task_uid
from keepstep.contracts.policy import DetectionPolicy, IsolationPolicy, Policy
from keepstep.contracts.topology import Command, JobRef, JobSpec

from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.fleet import add_node, add_pod
from ..server.objects import Obj
from ..server.store import Store
from .layout import Layout, job_name, node_name

POOL = Pool("scale")
NAMESPACE = "default"
UNWATCHED = 86_400.0
"""Nobody beats for these pods: the silence of agents is another measurement."""


def spec_of(name: str, layout: Layout, *, storm: int) -> JobSpec:
    """Return a job's specification; ``storm`` is from how many isolations on a person is asked."""
    policy = Policy(
        detection=DetectionPolicy(loss_window=UNWATCHED),
        isolation=IsolationPolicy(storm_count=storm),
    )
    return JobSpec(name=name, entrypoint=Command(argv=("train",)), nodes=layout.tasks, policy=policy)


def task_ref(job: JobUid, index: int) -> tuple[str, str]:
    """Return name and uid of a job's task."""
    name = f"worker-{index}"
    return name, task_uid(job, name, 1)


def plant(store: Store, layout: Layout, *, storm: int) -> None:
    """Put nodes, jobs and pods there."""
    add_node(store, node_name(0))
    node = store.peek(kinds.NODE, node_name(0))
    for number in range(1, layout.nodes):
        name = node_name(number)
        labels = node["metadata"]["labels"] | {"kubernetes.io/hostname": name}
        store.plant(kinds.NODE, node | {"metadata": node["metadata"] | {"name": name, "labels": labels}})
    add_pod(store, "pattern", node_name(0), job="pattern", namespace=NAMESPACE)
    pattern = store.get(kinds.POD, "pattern", NAMESPACE)
    store.delete(kinds.POD, "pattern", NAMESPACE, DeleteOptions(grace=0))
    for number in range(layout.jobs):
        _plant_job(store, layout, number, pattern, storm)


def _plant_job(store: Store, layout: Layout, number: int, pattern: Obj, storm: int) -> None:
    name = job_name(number)
    uid = _create_job(store, name, layout, storm)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    labels = {"batch.kubernetes.io/job-name": name, "job-name": name, f"{MARK_PREFIX}job": name}
    for index in range(layout.tasks):
        notes = {
            "batch.kubernetes.io/job-completion-index": str(index),
            f"{MARK_PREFIX}task": task_ref(JobUid(uid), index)[1],
            f"{MARK_PREFIX}task-index": str(index),
            f"{MARK_PREFIX}task-job": uid,
        }
        meta = {"name": f"{name}-{index}", "labels": labels, "annotations": notes, "ownerReferences": [owner]}
        spec = pattern["spec"] | {"nodeName": layout.node_of(number, index)}
        store.plant(kinds.POD, pattern | {"metadata": pattern["metadata"] | meta, "spec": spec})


def _create_job(store: Store, name: str, layout: Layout, storm: int) -> str:
    """Create an indexed Job that runs, and return its uid."""
    container = {"name": "main", "image": "train:1"}
    labels = {f"{MARK_PREFIX}job": name}
    template = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": layout.tasks, "completions": layout.tasks, "completionMode": "Indexed"}
    notes = {f"{MARK_PREFIX}spec": spec_of(name, layout, storm=storm).model_dump_json()}
    meta = {"name": name, "labels": labels, "annotations": notes}
    made = store.create(kinds.JOB, {"metadata": meta, "spec": {**spec, "template": template}}, NAMESPACE)

    def runs(job: Obj) -> None:
        job["status"] = {
            "active": layout.tasks,
            "ready": layout.tasks,
            "startTime": job["metadata"]["creationTimestamp"],
        }

    store.edit(kinds.JOB, name, NAMESPACE, runs, subresource="status")
    uid: str = made["metadata"]["uid"]
    return uid


def job_ref(job: Obj) -> JobRef:
    """Return the job that an object is."""
    return JobRef(name=job["metadata"]["name"], uid=JobUid(job["metadata"]["uid"]))
