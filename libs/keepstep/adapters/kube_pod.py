"""What keepstep keeps of a pod: under 1 KiB each, so that 50,000 fit into the memory of a small service.

Everything that says why a pod went, where it sat and whose it is; nothing of its spec.
"""

import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from keepstep.adapters.kube_json import JsonObject, condition, holds, instant, number, rows, table, text, words
from keepstep.adapters.kube_objects import MARK_PREFIX, ObjectUid, OwnerRef, PodUid, controller
from keepstep.contracts.ids import NodeName

TRACKING = "batch.kubernetes.io/job-tracking"
"""The Job controller's finalizer: a forced deletion does not get past it (trace job/e5-stuck-podreplacement-failed)."""
MESSAGE_CHARACTERS = 300
"""A scheduler's message names every node; its head says what is missing."""


class PodPhase(StrEnum):
    """``status.phase``; says nothing of a node that no longer answers."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Ended:
    """A container that ended."""

    container: str
    code: int
    reason: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Said:
    """A reason and its message, as the cluster gave them; ``by`` is the writer where the object names it."""

    reason: str
    message: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod now."""

    uid: PodUid
    namespace: str
    name: str
    version: str
    phase: PodPhase
    node: NodeName | None = None
    owner: OwnerRef | None = None
    seat: str = ""
    """Which of the job's pods it is (``worker-2``); the same for its successor, "" where the kind gives none."""
    round: int = 0
    """Which making of the whole job it belongs to: Volcano's job-version, JobSet's restart-attempt."""
    ready: bool = False
    created: datetime | None = None
    deleted: datetime | None = None
    """``deletionTimestamp``: the request plus the grace, the instant by which it should be gone."""
    grace: timedelta = timedelta(0)
    tracked: bool = False
    """The Job controller's finalizer holds it."""
    restarts: int = 0
    ended: tuple[Ended, ...] = ()
    last_ended: tuple[Ended, ...] = ()
    """Ends of containers that a kubelet has restarted since."""
    containers: int = 0
    waiting: Said | None = None
    disruption: Said | None = None
    unscheduled: Said | None = None
    status: Said | None = None
    """``status.reason``: set by a kubelet that evicted or refused the pod."""
    marks: tuple[tuple[str, str], ...] = ()
    """Labels and annotations of keepstep's own."""

    @property
    def asked(self) -> datetime | None:
        """When its deletion was asked for."""
        return None if self.deleted is None else self.deleted - self.grace

    @property
    def over(self) -> bool:
        """Whether all its containers are known to have ended."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED) and len(self.ended) >= self.containers

    @property
    def live(self) -> bool:
        """Whether it runs or may come to run: neither ended nor being deleted."""
        return self.deleted is None and self.phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED)


def pod_of(source: JsonObject) -> Pod:
    """Return what is kept of a pod object."""
    states = (*rows(source, "status", "initContainerStatuses"), *rows(source, "status", "containerStatuses"))
    grace = number(source, "metadata", "deletionGracePeriodSeconds")
    return Pod(
        uid=PodUid(ObjectUid(text(source, "metadata", "uid"))),
        namespace=sys.intern(text(source, "metadata", "namespace")),
        name=text(source, "metadata", "name"),
        version=text(source, "metadata", "resourceVersion"),
        phase=PodPhase(text(source, "status", "phase") or PodPhase.PENDING),
        node=NodeName(sys.intern(text(source, "spec", "nodeName"))) or None,
        owner=controller(source),
        seat=sys.intern(_seat(source)),
        round=_round(source),
        ready=holds(source, "Ready"),
        created=instant(source, "metadata", "creationTimestamp"),
        deleted=instant(source, "metadata", "deletionTimestamp"),
        grace=timedelta(seconds=grace),
        tracked=TRACKING in words(source, "metadata", "finalizers"),
        restarts=sum(number(state, "restartCount") for state in states),
        ended=_ends(states, "state"),
        last_ended=_ends(states, "lastState"),
        containers=len(rows(source, "status", "containerStatuses")),
        waiting=_waiting(states),
        disruption=_disruption(source),
        unscheduled=_unscheduled(source),
        status=_said(table(source, "status")),
        marks=_marks(source),
    )


def _seat(source: JsonObject) -> str:
    labels, notes = table(source, "metadata", "labels"), table(source, "metadata", "annotations")
    if "volcano.sh/task-spec" in labels:
        return f"{text(labels, 'volcano.sh/task-spec')}-{text(labels, 'volcano.sh/task-index')}"
    if "training.kubeflow.org/replica-type" in labels:
        kind, index = text(labels, "training.kubeflow.org/replica-type"), "training.kubeflow.org/replica-index"
        return f"{kind}-{text(labels, index)}"
    index = text(notes, "batch.kubernetes.io/job-completion-index")
    if "jobset.sigs.k8s.io/replicatedjob-name" in labels:
        name, job = text(labels, "jobset.sigs.k8s.io/replicatedjob-name"), text(labels, "jobset.sigs.k8s.io/job-index")
        return f"{name}-{job}-{index}"
    return index


def _round(source: JsonObject) -> int:
    said = text(source, "metadata", "annotations", "volcano.sh/job-version") or text(
        source, "metadata", "labels", "jobset.sigs.k8s.io/restart-attempt"
    )
    return int(said) if said.isdecimal() else 0


def _ends(states: tuple[JsonObject, ...], which: str) -> tuple[Ended, ...]:
    return tuple(
        Ended(
            container=sys.intern(text(state, "name")),
            code=number(end, "exitCode"),
            reason=sys.intern(text(end, "reason")),
            at=instant(end, "finishedAt"),
        )
        for state in states
        if (end := table(state, which, "terminated"))
    )


def _waiting(states: tuple[JsonObject, ...]) -> Said | None:
    for state in states:
        said = _said(table(state, "state", "waiting"))
        if said is not None and said.reason not in ("ContainerCreating", "PodInitializing"):
            return said
    return None


def _disruption(source: JsonObject) -> Said | None:
    found = condition(source, "DisruptionTarget")
    return _said(found, by=_writer(source, "DisruptionTarget")) if text(found, "status") == "True" else None


def _unscheduled(source: JsonObject) -> Said | None:
    found = condition(source, "PodScheduled")
    return _said(found) if text(found, "status") == "False" else None


def _said(source: JsonObject, *, by: str = "") -> Said | None:
    reason = text(source, "reason")
    if not reason:
        return None
    return Said(sys.intern(reason), sys.intern(text(source, "message")[:MESSAGE_CHARACTERS]), sys.intern(by))


def _writer(source: JsonObject, kind: str) -> str:
    """Return who manages a condition, "" where the server or our own list left managedFields out."""
    for entry in rows(source, "metadata", "managedFields"):
        if f'k:{{"type":"{kind}"}}' in table(entry, "fieldsV1", "f:status", "f:conditions"):
            return text(entry, "manager")
    return ""


def _marks(source: JsonObject) -> tuple[tuple[str, str], ...]:
    both = {**table(source, "metadata", "labels"), **table(source, "metadata", "annotations")}
    return tuple(sorted((name, str(said)) for name, said in both.items() if name.startswith(MARK_PREFIX)))
