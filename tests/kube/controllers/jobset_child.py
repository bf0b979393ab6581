"""What a JobSet makes: its child Jobs and their service, labelled as the real one labels them."""

import hashlib

from ..server.objects import Obj, copied
from .pods import owner_ref

LABEL = "jobset.sigs.k8s.io/"
ATTEMPT = f"{LABEL}restart-attempt"
ROLE = f"{LABEL}replicatedjob-name"


def job_of(job_set: Obj, role: Obj, index: int, *, suspended: bool) -> Obj:
    """Return one child Job of the present attempt."""
    template = copied(role["template"])
    meta, spec = template.get("metadata") or {}, template["spec"]
    name = f"{job_set['metadata']['name']}-{role['name']}-{index}"
    told = _labels(job_set, role, index, name)
    pod = spec["template"]
    pod.setdefault("metadata", {})
    pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **told, f"{LABEL}priority": "0"}
    pod["metadata"]["annotations"] = {**(pod["metadata"].get("annotations") or {}), **told}
    pod["spec"].setdefault("subdomain", job_set["metadata"]["name"])
    spec["suspend"] = suspended
    return {
        "metadata": {
            "name": name,
            "namespace": job_set["metadata"]["namespace"],
            "labels": {**(meta.get("labels") or {}), **told},
            "annotations": {**(meta.get("annotations") or {}), **told},
            "ownerReferences": [owner_ref(job_set)],
        },
        "spec": spec,
    }


def _labels(job_set: Obj, role: Obj, index: int, name: str) -> dict[str, str]:
    """Return what JobSet writes on its Jobs and their pods, as in samples/jobset-childjob-running."""
    roles = job_set["spec"]["replicatedJobs"]
    group = role.get("groupName", "default")
    before = roles[: roles.index(role)]
    at = index + sum(one.get("replicas", 1) for one in before)
    at_in_group = index + sum(one.get("replicas", 1) for one in before if one.get("groupName", "default") == group)
    total = sum(one.get("replicas", 1) for one in roles)
    in_group = sum(one.get("replicas", 1) for one in roles if one.get("groupName", "default") == group)
    key = f"{job_set['metadata']['namespace']}/{name}"
    told = {
        "global-replicas": total,
        "group-name": group,
        "group-replicas": in_group,
        "job-global-index": at,
        "job-group-index": at_in_group,
        "job-index": index,
        "job-key": hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest(),
        "jobset-name": job_set["metadata"]["name"],
        "jobset-uid": job_set["metadata"]["uid"],
        "replicatedjob-name": role["name"],
        "replicatedjob-replicas": role.get("replicas", 1),
        "restart-attempt": job_set["status"].get("restarts", 0),
    }
    return {f"{LABEL}{key}": str(value) for key, value in told.items()}


def service_of(job_set: Obj) -> Obj:
    """Return the headless service that gives the pods their names."""
    name = job_set["metadata"]["name"]
    network = job_set["spec"].get("network") or {}
    return {
        "metadata": {
            "name": network.get("subdomain", name),
            "namespace": job_set["metadata"]["namespace"],
            "ownerReferences": [owner_ref(job_set)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": network.get("publishNotReadyAddresses", True),
            "selector": {f"{LABEL}jobset-name": name},
        },
    }
