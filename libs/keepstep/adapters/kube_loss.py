"""Why a pod went, by whom, and whether its processes are known to be dead.

First cause wins: a container that ended before its deletion was asked for ended by itself; exit 143 after it is only
the SIGTERM. A taint eviction from a node that stopped answering is the node's loss, five minutes late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from keepstep.adapters.kube_json import JsonObject, instant, text
from keepstep.adapters.kube_loss_words import CAUSES, DELETERS, DISRUPTIONS, IMAGE_REASONS, KUBELET_REASONS, LossKind
from keepstep.adapters.kube_node import ISOLATED, Node
from keepstep.adapters.kube_objects import MARK_PREFIX
from keepstep.adapters.kube_pod import Ended, Pod, PodPhase, Said
from keepstep.contracts.taxonomy import LossCause

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""For an end without an instant."""

MARKED_DELETED = f"{MARK_PREFIX}deleted-for"
"""The annotation that keepstep puts on a pod before it deletes it: the incident."""


@dataclass(frozen=True, slots=True)
class Happened:
    """A core/v1 Event about a pod or its job."""

    reason: str
    message: str
    source: str
    about: str
    """Name of the object it is about."""
    uid: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a pod is lost to its job. ``proven``: its processes are known to be dead, so its ranks may run elsewhere."""

    kind: LossKind
    proven: bool
    because: str
    by: str = ""

    @property
    def cause(self) -> LossCause:
        """The contracts' word for it."""
        return CAUSES[self.kind]


def event_of(source: JsonObject) -> Happened:
    """Return what is kept of an event, of either generation of the events API."""
    return Happened(
        reason=text(source, "reason"),
        message=text(source, "message"),
        source=text(source, "reportingComponent") or text(source, "source", "component"),
        about=text(source, "involvedObject", "name"),
        uid=text(source, "involvedObject", "uid"),
        at=instant(source, "eventTime") or instant(source, "lastTimestamp"),
    )


def loss_of(pod: Pod, *, gone: bool, node: Node | None, events: Sequence[Happened] = ()) -> Loss | None:
    """Return why a job lost this pod, or None while it has it.

    ``gone``: the object is deleted, ``pod`` is what was last seen of it. ``node`` is its node now, None when that is
    deleted or the pod never had one. A pod that ended well is no loss.
    """
    if not gone and pod.phase is PodPhase.SUCCEEDED:
        return None
    kind, by, why = _reason(pod, gone, node, events)
    if kind is None:
        return None
    return Loss(kind, proven_dead(pod, gone=gone, node=node), because=f"pod {pod.name}: {why}", by=by)


def restarted_inside(before: Pod, now: Pod) -> Loss | None:
    """Return what ended a container that the kubelet has started again since: the pod lives on, its ranks do not.

    Pods of a TrainJob have restartPolicy OnFailure, so this is how their programs fail. Its processes are dead by word
    of the kubelet.
    """
    if now.restarts <= before.restarts or not now.last_ended:
        return None
    end = max(now.last_ended, key=lambda one: one.at or LONG_AGO)
    kind = LossKind.OOM_KILLED if end.reason == "OOMKilled" else LossKind.CONTAINER_FAILED
    times = now.restarts - before.restarts
    why = f"container {end.container} ended with code {end.code} ({end.reason or 'no reason given'})"
    count = "once" if times == 1 else f"{times} times"
    return Loss(kind, proven=True, because=f"pod {now.name}: {why} and was started again, {count}")


def proven_dead(pod: Pod, *, gone: bool, node: Node | None) -> bool:
    """Return whether no process of the pod can be running.

    True when all containers ended, when it never had a node, when its node is deleted or out of service by somebody's
    word, or when a node that answers let go of it after a graceful deletion. A forced deletion proves nothing.
    """
    if pod.node is None or pod.over or node is None or node.out_of_service:
        return True
    return gone and node.ready and pod.deleted is not None and pod.grace.total_seconds() > 0


_Reason = tuple[LossKind | None, str, str]


def _reason(pod: Pod, gone: bool, node: Node | None, events: Sequence[Happened]) -> _Reason:
    first = _own_end(pod) or _node_lost(pod, node)
    if first is not None:
        return first
    if pod.disruption is not None:
        return _disrupted(pod.disruption, node)
    if pod.status is not None and pod.status.reason in KUBELET_REASONS:
        why = f"{pod.status.reason}: {pod.status.message}"
        return KUBELET_REASONS[pod.status.reason], f"kubelet of {pod.node}", why
    if gone or pod.deleted is not None:
        return _deleted(pod, events)
    return _never_ran(pod)


def _own_end(pod: Pod) -> _Reason | None:
    """Return the end that a container met by itself, before anybody asked for the pod's deletion."""
    if pod.phase is not PodPhase.FAILED:
        return None
    for end in pod.ended:
        if end.code and _before(end, pod.asked) and pod.disruption is None:
            said = f"container {end.container} ended with code {end.code}" + (f" ({end.reason})" if end.reason else "")
            kind = LossKind.OOM_KILLED if end.reason == "OOMKilled" else LossKind.CONTAINER_FAILED
            return kind, "", said
    return None


def _before(end: Ended, asked: datetime | None) -> bool:
    return asked is None or (end.at is not None and end.at < asked)


def _node_lost(pod: Pod, node: Node | None) -> _Reason | None:
    if pod.node is None or pod.over:
        return None
    if node is None:
        return LossKind.NODE_LOST, "", f"node {pod.node} is deleted"
    if node.out_of_service:
        return LossKind.NODE_LOST, "", f"node {pod.node} is out of service"
    if not node.ready:
        return LossKind.NODE_LOST, "", f"node {pod.node} is not ready ({node.because or 'no reason given'})"
    return None


def _disrupted(said: Said, node: Node | None) -> _Reason:
    kind = DISRUPTIONS.get(said.reason, LossKind.UNKNOWN)
    by = said.by
    if kind is LossKind.EVICTED_TAINT and node is not None and node.evicts is not None:
        by = "keepstep" if node.evicts.key == ISOLATED else f"taint {node.evicts.key}"
    return kind, by, f"{said.reason}: {said.message}"


def _deleted(pod: Pod, events: Sequence[Happened]) -> _Reason:
    incident = dict(pod.marks).get(MARKED_DELETED)
    if incident is not None:
        return LossKind.KEEPSTEP_DELETED, "keepstep", f"deleted by keepstep for {incident}"
    for event in events:
        kind = DELETERS.get(event.reason)
        if kind is not None and _names(event, pod):
            return kind, event.source, f"{event.reason} by {event.source}: {event.message}"
    if pod.deleted is None:
        return LossKind.UNKNOWN, "", "it is gone and nobody saw it go"
    return LossKind.USER_DELETED, "", f"deleted at {pod.asked:%H:%M:%S}, no controller says that it was"


def _names(event: Happened, pod: Pod) -> bool:
    """Return whether the event is about the pod; events carry no uid where the controller had none at hand."""
    if event.uid == pod.uid or (not event.uid and event.about == pod.name):
        return True
    return pod.name in event.message.replace("/", " ").split()


def _never_ran(pod: Pod) -> _Reason:
    if pod.phase is PodPhase.FAILED:
        said = "" if pod.status is None else f" ({pod.status.reason}: {pod.status.message})"
        return LossKind.CONTAINER_FAILED, "", f"it failed without a container's code{said}"
    if pod.waiting is not None and pod.waiting.reason in IMAGE_REASONS:
        return LossKind.IMAGE_FAILED, "", f"{pod.waiting.reason}: {pod.waiting.message}"
    if pod.unscheduled is not None and pod.unscheduled.reason == "Unschedulable":
        return LossKind.UNSCHEDULABLE, "", f"no node takes it: {pod.unscheduled.message}"
    return None, "", ""
