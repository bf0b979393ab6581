"""What a restart in place or of a whole job writes, in which order, and what it costs: facts 5.2-5.7 and traces."""

from dataclasses import replace
from typing import Any

import pytest

from keepstep.adapters import kube_kinds
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_node import USABLE
from keepstep.adapters.kube_plan import Apply, Create, Delete, Ground, Patch, Propagation, RestartPlan, Verb
from keepstep.contracts.ids import IncidentId, NodeName
from keepstep.contracts.taxonomy import Level
from tests.kube.jobs import (
    DEAD,
    READY,
    SILENT,
    avoiding,
    child,
    gang,
    ground,
    plan,
    planned,
    refused,
    shape,
    view,
)
from tests.kube.own_rules import EXIT_CODE, KUEUE, RESTART, policies

V, P, T, S, J = JobKind.VOLCANO, JobKind.PYTORCHJOB, JobKind.TRAINJOB, JobKind.JOBSET, JobKind.JOB
CORDONED = replace(READY, unschedulable=True)
SUSPENSION = ["patch j", "await no-pods", "patch j"]
EMPTIED = ["patch j", "await not-one", "patch j"]
"""Of a PyTorchJob, which fails for good when it is resumed with a pod that Failed."""


def job_plan(kind: JobKind, *, there: Ground | None = None, **patch: Any) -> RestartPlan:
    return planned(plan(kind, view(kind, **patch), Level.JOB, on=there))


# level in-place: nothing is written, whatever the kind


@pytest.mark.parametrize("kind", JobKind)
def test_a_restart_in_place_touches_no_object(kind: JobKind) -> None:
    made = planned(plan(kind, view(kind), Level.IN_PLACE))
    assert (made.verb, made.steps, made.cost.amount) == (Verb.NOTHING, (), 0)
    assert made.expected.kept == made.before


# level job


@pytest.mark.parametrize("kind", [P, T, S, J])
def test_suspension_waits_until_no_pod_can_run_and_costs_nothing(kind: JobKind) -> None:
    """Traces d-restart of each kind."""
    made = job_plan(kind)
    assert (made.verb, made.cost.amount) == (Verb.SUSPEND, 0)
    assert shape(made) == (EMPTIED if kind is P else SUSPENSION)
    off, go = made.steps[0], made.steps[-1]
    assert isinstance(off, Patch)
    assert isinstance(go, Patch)
    path = {"runPolicy": {"suspend": True}} if kind is P else {"suspend": True}
    assert off.body == {"spec": path}
    assert go.body == {"spec": {"runPolicy": {"suspend": False}} if kind is P else {"suspend": False}}
    assert made.expected.pods == 4
    assert made.expected.kept == frozenset()


@pytest.mark.parametrize("kind", [P, T, S, J])
def test_pods_on_a_dead_node_are_forced_away_between_suspend_and_resume(kind: JobKind) -> None:
    """Traces e5-suspend-force-resume; resume before they are gone fails a PyTorchJob for good (e2)."""
    made = job_plan(kind, there=avoiding(ground(n1=DEAD), "n1"))
    name = gang(kind, view(kind))[1].name
    assert shape(made) == ["patch j", f"force {name}", *(EMPTIED if kind is P else SUSPENSION)[1:]]


@pytest.mark.parametrize("kind", [P, T, S, J])
def test_a_provider_who_vouches_for_a_node_is_proof_enough(kind: JobKind) -> None:
    there = replace(avoiding(ground(n1=SILENT), "n1"), proved=frozenset({NodeName("n1")}))
    assert any(step.startswith("force") for step in shape(job_plan(kind, there=there)))


@pytest.mark.parametrize("kind", JobKind)
@pytest.mark.parametrize("level", [Level.POD, Level.JOB])
def test_nothing_is_forced_from_a_node_that_only_does_not_answer(kind: JobKind, level: Level) -> None:
    spec: dict[str, Any] = {"spec": EXIT_CODE} if kind is P else {}
    no = refused(plan(kind, view(kind, **spec), level, on=ground(n1=SILENT)))
    assert "n1, which does not answer and is not proved dead" in no.because
    assert "out-of-service" in no.remedy


@pytest.mark.parametrize("kind", [V, P, S, J])
@pytest.mark.parametrize("level", [Level.POD, Level.JOB])
def test_a_bad_node_is_closed_before_the_restart(kind: JobKind, level: Level) -> None:
    """Facts 5.2: a vcjob can be kept off a node by the node's own cordon or taint only; the rule serves all kinds."""
    spec: dict[str, Any] = {"spec": EXIT_CODE} if kind is P else {}
    job = view(kind, **spec)
    assert "n1 would take the new pods" in refused(plan(kind, job, level, on=avoiding(ground(), "n1"))).because
    made = planned(plan(kind, job, level, on=avoiding(ground(n1=CORDONED), "n1")))
    assert made.expected.off == {"n1"}


def test_a_volcano_job_restarts_by_command_and_pays_a_retry() -> None:
    """Trace volcano/d-restart; the object as volcano-command.json."""
    made = job_plan(V, spec=policies(RESTART))
    assert made.verb is Verb.COMMAND
    assert (made.cost.amount, made.cost.used, made.cost.limit) == (1, 0, 3)
    assert made.expected.round_above == 0
    (step,) = made.steps
    assert isinstance(step, Create)
    assert step.body["action"] == "RestartJob"
    assert step.body["target"] == step.body["metadata"]["ownerReferences"][0]  # type: ignore[index]  # a body is JSON; these are tables
    assert step.body["target"]["uid"] == made.job.uid  # type: ignore[index]  # as above
    assert step.body["metadata"]["generateName"] == "j-restartjob-"  # type: ignore[index]  # as above


def test_pods_that_hang_go_before_the_command() -> None:
    """Trace volcano/e7-force-then-restart; the other order holds the restart (e2)."""
    made = job_plan(V, there=avoiding(ground(n2=DEAD), "n2"))
    assert shape(made) == ["force j-worker-1", "create"]


def test_a_volcano_job_whose_own_policy_restarts_it_gets_no_command_as_well() -> None:
    """Traces volcano/c-delete-policy and d-restart-while-restarting: the second restart kills the new pods."""
    job = view(V, spec=policies(RESTART))
    pods = gang(V, job)
    pods[1] = replace(pods[1], deleted=pods[1].created)
    made = planned(kube_kinds.restart_plan(job, Level.JOB, pods=pods, lost=pods, ground=ground()))
    assert shape(made) == []
    assert made.cost.amount == 1
    assert made.expected.round_above == pods[0].round
    hanging = planned(plan(V, job, Level.JOB, on=avoiding(ground(n2=DEAD), "n2")))
    assert shape(hanging) == ["force j-worker-1"]


def test_with_one_retry_left_a_volcano_job_without_policies_is_restarted_by_deletion() -> None:
    """Trace volcano/d-delete-all-pods: all are made again at version 0, no retry."""
    made = job_plan(V, status={"retryCount": 1})
    assert (made.verb, made.cost.amount) == (Verb.DELETE_PODS, 0)
    assert shape(made) == ["delete j-master-0", "delete j-worker-0", "delete j-worker-1", "delete j-worker-2"]
    assert "leaves 1 restart," not in made.because
    assert "leaves 1 restart;" in made.because


def test_the_last_retry_of_a_volcano_job_with_policies_is_said_to_be_the_last() -> None:
    made = job_plan(V, spec=policies(RESTART), status={"retryCount": 1})
    assert made.verb is Verb.COMMAND
    assert "the last restart but this ends the job" in made.because


@pytest.mark.parametrize("kind", [S, T])
def test_under_kueue_the_child_jobs_are_deleted_and_suspend_is_not_fought(kind: JobKind) -> None:
    """Traces jobset/d-delete-childjobs, e6-delete-childjobs: a hanging pod first, else half a job."""
    made = job_plan(kind, metadata=KUEUE, there=ground(n1=DEAD))
    assert (made.verb, made.cost.amount) == (Verb.DELETE_JOBS, 0)
    assert shape(made) == ["force j-node-0-1", "delete j-node-0"]
    last = made.steps[-1]
    assert isinstance(last, Delete)
    assert last.propagation is Propagation.FOREGROUND


def test_under_kueue_the_pods_of_a_pytorchjob_are_deleted() -> None:
    """Trace pytorchjob/d-delete-all-pods-exitcode."""
    made = job_plan(P, metadata=KUEUE, spec=EXIT_CODE)
    assert made.verb is Verb.DELETE_PODS
    assert [step.split()[0] for step in shape(made)] == ["delete"] * 4


def usable(**nodes: Any) -> Ground:
    there = ground(**nodes)
    return replace(there, nodes={name: replace(node, usable=name != "n1") for name, node in there.nodes.items()})


def test_a_train_job_keeps_off_an_open_node_under_its_own_manager_key() -> None:
    """Traces trainjob/d-suspend-patch-nodeselector-resume, d-ssa-own-manager; affinity would hang the resume."""
    there = avoiding(usable(n4=READY), "n1")
    made = job_plan(T, there=there)
    assert shape(made) == ["patch j", "await no-pods", "apply j", "patch j"]
    apply = made.steps[2]
    assert isinstance(apply, Apply)
    assert USABLE in str(apply.body)
    assert "affinity" not in str(apply.body)
    assert "example.org/placement" not in str(apply.body)


def test_a_train_job_needs_enough_labelled_nodes_to_keep_off_one() -> None:
    no = refused(plan(T, view(T), Level.JOB, on=avoiding(usable(), "n1")))
    assert "label 4 usable nodes keepstep.io/usable=yes (3 are)" in no.remedy


def test_a_label_on_a_node_that_is_silent_or_to_be_avoided_helps_no_train_job() -> None:
    there = usable(n3=SILENT, n4=READY)
    bad = NodeName("n1")
    there = replace(there, nodes={**there.nodes, bad: replace(there.nodes[bad], usable=True)})
    pods = gang(T, view(T))[:3]
    no = refused(kube_kinds.restart_plan(view(T), Level.JOB, pods=pods, lost=[], ground=avoiding(there, "n1")))
    assert "(3 are)" in no.remedy


def test_a_train_job_needs_no_selector_where_the_node_is_closed() -> None:
    assert shape(job_plan(T, there=avoiding(ground(n1=CORDONED), "n1"))) == SUSPENSION


def test_a_train_job_of_a_queue_has_no_selector_and_waits_for_the_node_to_be_closed() -> None:
    no = refused(plan(T, view(T, metadata=KUEUE), Level.JOB, on=avoiding(usable(n4=READY), "n1")))
    assert "n1 would take the new pods" in no.because


@pytest.mark.parametrize("kind", [J, S, T])
@pytest.mark.parametrize("level", [Level.POD, Level.JOB])
def test_a_pod_held_by_a_finalizer_wants_the_out_of_service_taint(kind: JobKind, level: Level) -> None:
    """Trace job/e5-stuck-podreplacement-failed: a forced deletion does not free it."""
    held: dict[str, Any] = {"spec": {"podReplacementPolicy": "Failed"}}
    job = view(J, **held) if kind is J else view(kind, jobs=[child(**held)])
    fenced = replace(ground(n1=SILENT), proved=frozenset({NodeName("n1")}))
    no = refused(plan(kind, job, level, on=fenced))
    assert "finalizer" in no.because
    assert "out-of-service" in no.remedy
    planned(plan(kind, job, level, on=ground(n1=DEAD)))


# every plan


@pytest.mark.parametrize("kind", JobKind)
def test_a_plan_says_itself_in_one_sentence_with_its_cost(kind: JobKind) -> None:
    made = job_plan(kind)
    assert made.because.startswith(f"{made.job}: ")
    assert str(made.cost) in made.because
    assert all(step.why for step in made.steps)


def test_the_same_incident_over_the_same_pods_is_the_same_restart() -> None:
    one, again = job_plan(J), job_plan(J)
    assert one.key(IncidentId("a")) == again.key(IncidentId("a"))
    assert one.key(IncidentId("a")) != one.key(IncidentId("b"))
    assert one.key(IncidentId("a")) != replace(one, before=frozenset()).key(IncidentId("a"))
