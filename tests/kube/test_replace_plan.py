"""What the replacement of single pods writes and costs: facts 5.2-5.7 and the traces named beside each rule."""

from datetime import timedelta
from typing import Any

import pytest

from keepstep.adapters import kube_kinds
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_plan import Verb
from keepstep.contracts.taxonomy import Level
from tests.kube.jobs import DEAD, child, gang, ground, plan, planned, pod_plan, refused, shape, view
from tests.kube.own_rules import EXIT_CODE, FREE_EVICTION, RESTART, on, policies

V, P, T, S, J = JobKind.VOLCANO, JobKind.PYTORCHJOB, JobKind.TRAINJOB, JobKind.JOBSET, JobKind.JOB


# level pod


@pytest.mark.parametrize("kind", JobKind)
def test_only_the_lost_pod_is_deleted_and_the_others_are_to_stay(kind: JobKind) -> None:
    spec: dict[str, Any] = {"spec": EXIT_CODE} if kind is P else {}
    job = view(kind, **spec)
    pods = gang(kind, job)
    made = planned(plan(kind, job, Level.POD))
    assert shape(made) == [f"delete {pods[1].name}"]
    assert made.expected.kept == {pod.uid for pod in pods} - {pods[1].uid}
    assert made.expected.pods == 4


def test_a_pod_on_a_dead_node_is_forced_away_so_that_its_index_is_free() -> None:
    """Trace pytorchjob/e6-resume-with-hanging-exitcode: that index waits else."""
    made = pod_plan(P, spec=EXIT_CODE, there=ground(n1=DEAD))
    assert shape(made) == ["force j-worker-0"]


def test_a_pod_that_is_gone_already_is_not_written_to() -> None:
    job = view(V)
    pods = gang(V, job)
    made = planned(kube_kinds.restart_plan(job, Level.POD, pods=pods[1:], lost=pods[:1], ground=ground()))
    assert made.steps == ()
    assert pods[0].uid in made.before
    assert len(made.expected.kept) == 3


@pytest.mark.parametrize(("failed", "lost", "delay"), [(0, 1, 10), (1, 1, 20), (0, 2, 20), (0, 4, 80), (3, 1, 80)])
def test_a_job_keeps_the_successors_back_longer_with_each_failure(failed: int, lost: int, delay: int) -> None:
    """Traces job/c-delete (10 s), job/d-delete-all-pods-long (79.3 s for four); each counts."""
    made = pod_plan(J, status={"failed": failed}, lost=tuple(range(lost)))
    assert made.cost.delay == timedelta(seconds=delay)
    assert (made.cost.amount, made.cost.used, made.cost.limit) == (lost, failed, 6)
    assert f"pods come back after {delay} s" in made.because


def test_more_deleted_pods_than_failures_left_are_refused() -> None:
    no = refused(plan(J, view(J, status={"failed": 5}), Level.POD, lost=(0, 1)))
    assert "2 deleted pods are more failures than the 1" in no.because
    assert pod_plan(J, status={"failed": 5}).cost.amount == 1


def test_an_eviction_is_used_where_the_job_ignores_disruptions() -> None:
    """Kubernetes: an ignored failure is not counted; facts 5.5 (c) recommends it."""
    made = pod_plan(J, spec={"podFailurePolicy": FREE_EVICTION}, status={"failed": 6})
    assert (made.verb, made.cost.amount) == (Verb.EVICT_PODS, 0)
    assert shape(made) == ["evict j-node-0-1"]


def test_an_ignored_eviction_from_a_dead_node_is_followed_by_force() -> None:
    """Trace job/e5-stuck-podreplacement-terminatingorfailed: the answer is 201 and frees nothing."""
    made = pod_plan(J, spec={"podFailurePolicy": FREE_EVICTION}, there=ground(n1=DEAD))
    assert shape(made) == ["evict j-node-0-1", "force j-node-0-1"]


def test_the_child_job_of_the_lost_pod_pays() -> None:
    rich, poor = child(), child("j-other-0", "child-1", status={"failed": 6})
    job = view(S, jobs=[poor, rich])
    made = planned(plan(S, job, Level.POD))
    assert "j-node-0" in made.cost.budget
    job = view(S, jobs=[rich, child(status={"failed": 6})])
    assert "backoffLimit 6" in refused(plan(S, job, Level.POD)).because


def test_a_volcano_policy_of_the_lost_pods_task_decides() -> None:
    """Trace volcano/c-delete-taskpolicy-first."""
    spec = {"tasks": [{"name": "master", "replicas": 1, **policies(RESTART)}, {"name": "worker", "replicas": 3}]}
    job = view(V, spec=spec)
    assert shape(planned(plan(V, job, Level.POD, lost=(1,)))) == ["delete j-worker-0"]
    assert "deleting j-master-0 restarts or ends the job" in refused(plan(V, job, Level.POD, lost=(0,))).because


def test_a_policy_that_restarts_the_pod_costs_a_retry_for_each() -> None:
    """Trace volcano/c-delete-policy-restartpod."""
    spec = policies(on("PodEvicted", "RestartPod"))
    assert pod_plan(V, spec=spec).cost.amount == 1
    assert "takes 3 of maxRetry 3" in refused(plan(V, view(V, spec=spec), Level.POD, lost=(1, 2, 3))).because
