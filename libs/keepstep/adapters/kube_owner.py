"""Whose a pod is: up the controller references, by uid, to the topmost owner that keepstep can restart."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from keepstep.adapters.kube_objects import ObjectRef, ObjectUid, OwnerRef, group


class JobKind(StrEnum):
    """The five job controllers."""

    VOLCANO = "volcano"
    PYTORCHJOB = "pytorchjob"
    TRAINJOB = "trainjob"
    JOBSET = "jobset"
    JOB = "job"


KINDS: Mapping[tuple[str, str], JobKind] = {
    ("batch.volcano.sh", "Job"): JobKind.VOLCANO,
    ("kubeflow.org", "PyTorchJob"): JobKind.PYTORCHJOB,
    ("trainer.kubeflow.org", "TrainJob"): JobKind.TRAINJOB,
    ("jobset.x-k8s.io", "JobSet"): JobKind.JOBSET,
    ("batch", "Job"): JobKind.JOB,
}
"""By API group and kind; two of them are called Job."""


@dataclass(frozen=True, slots=True)
class Owned:
    """An object between a pod and its job, or the job itself."""

    ref: ObjectRef
    owner: OwnerRef | None = None


@dataclass(frozen=True, slots=True)
class Top:
    """The job of a pod."""

    kind: JobKind
    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class Unseen:
    """An owner that the cache has not seen yet, or that is gone; ask again when it has."""

    owner: OwnerRef


@dataclass(frozen=True, slots=True)
class Nobodys:
    """No owner that keepstep can restart: a bare pod, a Deployment's, a DaemonSet's."""


def top_owner(owner: OwnerRef | None, seen: Mapping[ObjectUid, Owned]) -> Top | Unseen | Nobodys:
    """Return the topmost owner of a supported kind, walking up from a pod's own controller.

    An unsupported controller above (a CronJob, an experiment) ends the walk with the job found so far: it makes jobs
    anew and never restarts one.
    """
    best: Top | Nobodys = Nobodys()
    walked: set[ObjectUid] = set()
    while owner is not None and owner.uid not in walked:
        walked.add(owner.uid)
        kind = KINDS.get((group(owner.api), owner.kind))
        if kind is None:
            return best
        found = seen.get(owner.uid)
        if found is None:
            return Unseen(owner)
        best = Top(kind, found.ref)
        owner = found.owner
    return best
