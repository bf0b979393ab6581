"""The pods of an Indexed Job: how they are made, which index they have, when they ended."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ..server.objects import Obj, copied, labels_of, read_instant
from .pods import condition, owner_ref, terminating

TRACKED = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"


def pod_of(job: Obj, index: int) -> Obj:
    """Return the pod of one completion index."""
    template = copied(job["spec"]["template"])
    meta, name = template.get("metadata") or {}, job["metadata"]["name"]
    spec = template["spec"]
    field = f"metadata.annotations['{INDEX}']"
    told = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": field}}}
    for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
        container.setdefault("env", []).append(told)
    spec.setdefault("hostname", f"{name}-{index}")
    return {
        "metadata": {
            "generateName": f"{name}-{index}-",
            "namespace": job["metadata"]["namespace"],
            "labels": {**(meta.get("labels") or {}), INDEX: str(index)},
            "annotations": {**(meta.get("annotations") or {}), INDEX: str(index)},
            "finalizers": [TRACKED],
            "ownerReferences": [owner_ref(job)],
        },
        "spec": spec,
    }


def index_of(pod: Obj) -> int:
    """Return the pod's completion index."""
    return int(labels_of(pod)[INDEX])


def end_of(pod: Obj) -> datetime:
    """Return when a failed pod ended: its containers, else since when it is not ready, else when it was deleted."""
    states = [one.get("state", {}).get("terminated") for one in pod["status"].get("containerStatuses") or ()]
    if states and all(states):
        return max(read_instant(state["finishedAt"]) for state in states if state)
    unready = condition(pod, "Ready")
    if unready is not None and unready["status"] == "False":
        return read_instant(unready["lastTransitionTime"])
    meta = pod["metadata"]
    if terminating(pod):
        return read_instant(meta["deletionTimestamp"]) - timedelta(seconds=meta["deletionGracePeriodSeconds"])
    return read_instant(meta["creationTimestamp"])


def finalizers(pod: Obj) -> Sequence[str]:
    """Return the pod's finalizers."""
    found: Sequence[str] = pod["metadata"].get("finalizers") or ()
    return found
