"""The words in which a cluster says that a pod is lost, and ours for them."""

from collections.abc import Mapping
from enum import StrEnum

from keepstep.contracts.taxonomy import LossCause


class LossKind(StrEnum):
    """How a pod was lost, finer than the contracts' LossCause."""

    USER_DELETED = "user_deleted"
    CONTROLLER_DELETED = "controller_deleted"
    KEEPSTEP_DELETED = "keepstep_deleted"
    EVICTED_API = "evicted_api"
    EVICTED_TAINT = "evicted_taint"
    EVICTED_PRESSURE = "evicted_pressure"
    PREEMPTED = "preempted"
    NODE_LOST = "node_lost"
    OOM_KILLED = "oom_killed"
    IMAGE_FAILED = "image_failed"
    CONTAINER_FAILED = "container_failed"
    UNSCHEDULABLE = "unschedulable"
    UNKNOWN = "unknown"


CAUSES: Mapping[LossKind, LossCause] = {
    LossKind.USER_DELETED: LossCause.DELETED,
    LossKind.CONTROLLER_DELETED: LossCause.DELETED,
    LossKind.KEEPSTEP_DELETED: LossCause.DELETED,
    LossKind.EVICTED_API: LossCause.EVICTED,
    LossKind.EVICTED_TAINT: LossCause.EVICTED,
    LossKind.EVICTED_PRESSURE: LossCause.EVICTED,
    LossKind.PREEMPTED: LossCause.PREEMPTED,
    LossKind.NODE_LOST: LossCause.NODE_LOST,
    LossKind.OOM_KILLED: LossCause.OOM_KILLED,
    LossKind.IMAGE_FAILED: LossCause.UNKNOWN,
    LossKind.CONTAINER_FAILED: LossCause.LAUNCHER_EXITED,
    LossKind.UNSCHEDULABLE: LossCause.UNKNOWN,
    LossKind.UNKNOWN: LossCause.UNKNOWN,
}
"""The word of the contracts for each kind; the kind itself goes into the loss's text."""

DISRUPTIONS: Mapping[str, LossKind] = {
    "PreemptionByScheduler": LossKind.PREEMPTED,
    "PreemptionByKubeScheduler": LossKind.PREEMPTED,
    "DeletionByTaintManager": LossKind.EVICTED_TAINT,
    "EvictionByEvictionAPI": LossKind.EVICTED_API,
    "DeletionByPodGC": LossKind.NODE_LOST,
    "TerminationByKubelet": LossKind.EVICTED_PRESSURE,
}
"""``DisruptionTarget`` reasons of Kubernetes 1.26 and later."""

KUBELET_REASONS: Mapping[str, LossKind] = {
    "Evicted": LossKind.EVICTED_PRESSURE,
    "NodeShutdown": LossKind.EVICTED_PRESSURE,
    "Terminated": LossKind.EVICTED_PRESSURE,
    "Preempting": LossKind.PREEMPTED,
}
"""``status.reason`` of a pod that its kubelet put out."""

IMAGE_REASONS = frozenset(
    (
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ErrImageInspect",
        "RegistryUnavailable",
    )
)
"""``waiting.reason`` of a container whose image does not come."""

DELETERS: Mapping[str, LossKind] = {
    "SuccessfulDelete": LossKind.CONTROLLER_DELETED,
    "SuccessfulDeletePod": LossKind.CONTROLLER_DELETED,
    "TaintManagerEviction": LossKind.EVICTED_TAINT,
    "Preempted": LossKind.PREEMPTED,
    "Evict": LossKind.PREEMPTED,
    "Evicted": LossKind.EVICTED_PRESSURE,
}
"""Event reasons that name a pod and who took it; ``Evict`` is Volcano's."""
