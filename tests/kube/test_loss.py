"""Why a pod went: each row is a state that real controllers leave behind, most of them recorded."""

from dataclasses import replace
from typing import Any

import pytest

from keepstep.adapters.kube_loss import Happened, Loss, event_of, loss_of, restarted_inside
from keepstep.adapters.kube_loss_words import CAUSES, LossKind
from keepstep.adapters.kube_node import Effect, Node, Taint, node_of
from keepstep.adapters.kube_pod import Pod, pod_of
from keepstep.contracts.ids import NodeName
from keepstep.contracts.taxonomy import LossCause
from tests.kube.objects import changed, merged, sample

READY = node_of(sample("node-ready"))
SILENT = node_of(sample("node-unreachable"))
DELETED_AT = {"deletionTimestamp": "2026-11-29T21:50:00Z", "deletionGracePeriodSeconds": 30}


def on(node: Node, pod: dict[str, Any]) -> Pod:
    """Return the pod as it would stand on this node."""
    return replace(pod_of(pod), node=node.name)


def lost(pod: Pod, node: Node | None = READY, *, gone: bool = False, events: tuple[Happened, ...] = ()) -> Loss:
    loss = loss_of(pod, gone=gone, node=node, events=events)
    assert loss is not None
    return loss


def running(**patch: Any) -> dict[str, Any]:
    return changed("job-pod-running", **patch)


def terminated(code: int, reason: str, at: str) -> dict[str, Any]:
    status = {"name": "main", "state": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": at}}}
    return {"phase": "Failed", "containerStatuses": [status]}


def waiting(reason: str) -> dict[str, Any]:
    status = {"name": "main", "state": {"waiting": {"reason": reason, "message": "x"}}}
    return {"phase": "Pending", "containerStatuses": [status]}


def disrupted(reason: str) -> dict[str, Any]:
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "m"}]
    return running(status={"conditions": conditions}, metadata=DELETED_AT)


def test_a_pod_that_runs_is_not_lost() -> None:
    assert loss_of(on(READY, running()), gone=False, node=READY) is None


def test_a_pod_that_ended_well_is_not_lost() -> None:
    assert loss_of(on(READY, running(status={"phase": "Succeeded"})), gone=False, node=READY) is None


ROWS: list[tuple[str, dict[str, Any], Node, LossKind]] = [
    ("a kubelet reports the kernel's kill", sample("pod-failed-137"), READY, LossKind.OOM_KILLED),
    (
        "a program fails",
        running(status=terminated(1, "Error", "2026-11-29T21:44:02Z")),
        READY,
        LossKind.CONTAINER_FAILED,
    ),
    (
        "a program fails before somebody deletes its pod",
        running(status=terminated(1, "Error", "2026-11-29T21:49:00Z"), metadata=DELETED_AT),
        READY,
        LossKind.CONTAINER_FAILED,
    ),
    (
        "SIGTERM of a deletion is no failure of the program",
        running(status=terminated(143, "Error", "2026-11-29T21:49:31Z"), metadata=DELETED_AT),
        READY,
        LossKind.USER_DELETED,
    ),
    (
        "SIGTERM within the second of the deletion",
        running(status=terminated(143, "Error", "2026-11-29T21:49:30Z"), metadata=DELETED_AT),
        READY,
        LossKind.USER_DELETED,
    ),
    ("the eviction API", sample("pod-evicted-api"), READY, LossKind.EVICTED_API),
    ("the taint manager, node silent", sample("pod-evicted-taint"), SILENT, LossKind.NODE_LOST),
    ("the taint manager, node answers", sample("pod-evicted-taint"), READY, LossKind.EVICTED_TAINT),
    ("the pod garbage collector", sample("pod-gone-podgc"), READY, LossKind.NODE_LOST),
    ("a hanging pod", sample("pod-hanging-terminating"), SILENT, LossKind.NODE_LOST),
    ("a node goes silent", sample("job-pod-running"), SILENT, LossKind.NODE_LOST),
    ("a scheduler preempts", disrupted("PreemptionByScheduler"), READY, LossKind.PREEMPTED),
    ("a kubelet evicts and says it by condition", disrupted("TerminationByKubelet"), READY, LossKind.EVICTED_PRESSURE),
    ("a reason of tomorrow", disrupted("DeletionByMoonPhase"), READY, LossKind.UNKNOWN),
    (
        "a kubelet under pressure",
        running(status={"phase": "Failed", "reason": "Evicted", "message": "memory", "containerStatuses": None}),
        READY,
        LossKind.EVICTED_PRESSURE,
    ),
    ("an image that is not there", running(status=waiting("ImagePullBackOff")), READY, LossKind.IMAGE_FAILED),
    ("an image name that is none", running(status=waiting("InvalidImageName")), READY, LossKind.IMAGE_FAILED),
    ("no node takes it", sample("job-pod-unschedulable"), READY, LossKind.UNSCHEDULABLE),
    ("no node takes the gang", sample("volcano-pod-unschedulable"), READY, LossKind.UNSCHEDULABLE),
]


@pytest.mark.parametrize(("pod", "node", "kind"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_why_a_pod_was_lost(pod: dict[str, Any], node: Node, kind: LossKind) -> None:
    seen = pod_of(pod)
    found = lost(seen if seen.node is None else replace(seen, node=node.name), node)
    assert found.kind is kind
    assert found.cause is CAUSES[kind]
    assert found.because.startswith(f"pod {seen.name}: ")


def test_a_pod_that_is_being_made_waits_and_is_not_lost() -> None:
    assert loss_of(on(READY, running(status=waiting("ContainerCreating"))), gone=False, node=READY) is None
    fits = changed("volcano-pod-unschedulable")
    fits["status"]["conditions"][0]["reason"] = "Schedulable"
    assert loss_of(pod_of(fits), gone=False, node=None) is None


@pytest.mark.parametrize(
    ("event", "kind", "by"),
    [
        (Happened("SuccessfulDelete", "Deleted pod: j-0-tmh7h", "job-controller", "j"), "controller_deleted", "job-"),
        (Happened("SuccessfulDelete", "Deleted pod: j-0-other", "job-controller", "j"), "user_deleted", ""),
        (Happened("Preempted", "Preempted by x", "default-scheduler", "j-0-tmh7h"), "preempted", "default-scheduler"),
        (Happened("Preempted", "Preempted by x", "default-scheduler", "j-0-tmh7h", "not-mine"), "user_deleted", ""),
        (
            Happened("TaintManagerEviction", "Marking for deletion Pod ns/j-0-tmh7h", "taint-eviction-controller", "p"),
            "evicted_taint",
            "taint-eviction-controller",
        ),
    ],
)
def test_events_tell_who_deleted_where_the_pod_does_not(event: Happened, kind: str, by: str) -> None:
    found = lost(on(READY, running(metadata=DELETED_AT)), events=(event,))
    assert found.kind == kind
    assert found.by.startswith(by)


def test_a_deletion_by_keepstep_names_its_incident() -> None:
    note = {"annotations": {"keepstep.io/deleted-for": "abc"}}
    found = lost(on(READY, running(metadata={**DELETED_AT, **note})))
    assert (found.kind, found.by) == (LossKind.KEEPSTEP_DELETED, "keepstep")
    assert "abc" in found.because


@pytest.mark.parametrize(("key", "by"), [("keepstep.io/isolated", "keepstep"), ("ops/repair", "taint ops/repair")])
def test_an_eviction_by_taint_says_whose_taint_it_was(key: str, by: str) -> None:
    node = replace(READY, taints=(Taint(key, Effect.NO_EXECUTE),))
    assert lost(on(node, sample("pod-evicted-taint")), node).by == by


def test_the_writer_of_the_condition_is_named_where_the_server_says_it() -> None:
    fields: dict[str, Any] = {"f:status": {"f:conditions": {'k:{"type":"DisruptionTarget"}': {}}}}
    pod = merged(sample("pod-evicted-api"), {"metadata": {"managedFields": [{"manager": "vc", "fieldsV1": fields}]}})
    assert lost(on(READY, pod)).by == "vc"


def test_a_pod_that_nobody_saw_go_is_lost_for_unknown_reasons() -> None:
    assert lost(on(READY, running()), gone=True).kind is LossKind.UNKNOWN


def test_a_node_that_was_deleted_took_its_pods() -> None:
    found = lost(on(READY, running()), None, gone=True)
    assert (found.kind, found.proven) == (LossKind.NODE_LOST, True)


PROOFS: list[tuple[str, dict[str, Any], Node | None, bool, bool]] = [
    ("runs on a silent node", running(), SILENT, False, False),
    ("forced away from a silent node", running(metadata=DELETED_AT), SILENT, True, False),
    ("hangs on a silent node", sample("pod-hanging-terminating"), SILENT, False, False),
    (
        "out of service",
        running(),
        replace(SILENT, taints=(Taint("node.kubernetes.io/out-of-service", Effect.NO_EXECUTE),)),
        False,
        True,
    ),
    ("ended with its code", sample("pod-failed-137"), READY, False, True),
    ("let go by a node that answers", running(metadata=DELETED_AT), READY, True, True),
    (
        "forced away from a node that answers",
        running(metadata={**DELETED_AT, "deletionGracePeriodSeconds": 0}),
        READY,
        True,
        False,
    ),
    ("being deleted still", running(metadata=DELETED_AT), READY, False, False),
    ("phase set by the garbage collector, containers unknown", sample("pod-gone-podgc"), SILENT, False, False),
    ("never had a node", changed("job-pod-unschedulable", metadata=DELETED_AT), None, True, True),
]


@pytest.mark.parametrize(("pod", "node", "gone", "proven"), [row[1:] for row in PROOFS], ids=[row[0] for row in PROOFS])
def test_whether_its_processes_are_known_to_be_dead(
    pod: dict[str, Any], node: Node | None, gone: bool, proven: bool
) -> None:
    seen = pod_of(pod)
    placed = seen if seen.node is None else replace(seen, node=NodeName("n"))
    assert lost(placed, node, gone=gone).proven is proven


def restarted(count: int, *ends: tuple[str, int, str, str]) -> Pod:
    """Return a running pod whose containers (name, code, reason, minute) ended before."""
    states = [
        {
            "name": name,
            "restartCount": count,
            "state": {"running": {}},
            "lastState": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": f"2026-11-29T21:{at}:00Z"}},
        }
        for name, code, reason, at in ends
    ]
    return pod_of(running(status={"containerStatuses": states}))


def test_a_program_that_its_kubelet_started_again_has_failed_inside_a_living_pod() -> None:
    """Pods of a TrainJob have restartPolicy OnFailure: their program fails and the pod stays Running."""
    before = pod_of(running())
    oom, crash = ("main", 137, "OOMKilled", "44"), ("side", 1, "Error", "45")
    assert restarted_inside(before, restarted(0)) is None
    found = restarted_inside(before, restarted(1, oom))
    assert found is not None
    assert (found.kind, found.proven) == (LossKind.OOM_KILLED, True)
    assert "started again, once" in found.because
    latest = restarted_inside(before, restarted(1, oom, crash))
    assert latest is not None
    assert latest.kind is LossKind.CONTAINER_FAILED
    assert "started again, 2 times" in latest.because
    assert restarted_inside(restarted(1, oom), restarted(1, oom)) is None


def test_every_kind_has_a_word_in_the_contracts() -> None:
    assert set(CAUSES) == set(LossKind)
    assert CAUSES[LossKind.PREEMPTED] is LossCause.PREEMPTED


def test_recorded_events_are_read() -> None:
    eviction = event_of(sample("event-taint-eviction"))
    assert (eviction.reason, eviction.source) == ("TaintManagerEviction", "taint-eviction-controller")
    assert event_of(sample("event-failedscheduling")).at is not None
    assert event_of(sample("event-volcano-executeaction")).source == "vc-controller-manager"
