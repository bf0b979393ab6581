"""PyTorchJob of training-operator v1: under restartPolicy Never the loss of one pod fails the whole job for good."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from keepstep.adapters.kube_json import JsonObject, condition, flag, holds, number, table, text
from keepstep.adapters.kube_plan import Cost, Ground, RestartPlan, Verb
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_steps import (
    in_place,
    obstacle,
    removals,
    replace_pods,
    restart_all,
    suspend_and_resume,
    unfenced,
)
from keepstep.adapters.kube_view import (
    JobPhase,
    JobView,
    Refusal,
    Row,
    Support,
    identity,
    is_deleting,
    queue_of,
    support,
)
from keepstep.contracts.taxonomy import Level

OPERATOR = "kubeflow.org/training-operator"


class Restart(StrEnum):
    """``restartPolicy`` of a replica type."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


@dataclass(frozen=True, slots=True, kw_only=True)
class PyTorchView(JobView):
    """A PyTorchJob; it counts no restart of whole pods, so ``counter`` stays 0."""

    restart: tuple[tuple[str, Restart], ...] = ()
    """By replica type. Unset counts as Never: the operator fills its default in memory only, and Never is the one
    under which a deleted pod cannot be taken back."""

    @property
    def fragile(self) -> str:
        """The replica types whose lost pod fails the job, "" for none."""
        return ", ".join(kind for kind, policy in self.restart if policy is Restart.NEVER)


def view_of(source: JsonObject) -> PyTorchView:
    """Return the job as its object shows it."""
    ref, version = identity(source)
    specs = table(source, "spec", "pytorchReplicaSpecs")
    managed_by = text(source, "spec", "runPolicy", "managedBy")
    return PyTorchView(
        ref=ref,
        version=version,
        phase=_phase(source),
        size=sum(number(specs, kind, "replicas", default=1) for kind in specs),
        suspended=flag(source, "spec", "runPolicy", "suspend"),
        queue=queue_of(source),
        manager="" if managed_by in ("", OPERATOR) else managed_by,
        deleting=is_deleting(source),
        said=text(condition(source, "Failed"), "message"),
        restart=tuple((kind, Restart(text(specs, kind, "restartPolicy") or Restart.NEVER)) for kind in sorted(specs)),
    )


_CONDITIONS = (
    ("Failed", JobPhase.FAILED),
    ("Succeeded", JobPhase.SUCCEEDED),
    ("Suspended", JobPhase.SUSPENDED),
    ("Restarting", JobPhase.RESTARTING),
    ("Running", JobPhase.RUNNING),
)


def _phase(source: JsonObject) -> JobPhase:
    return next((phase for kind, phase in _CONDITIONS if holds(source, kind)), JobPhase.PENDING)


ROWS: tuple[Row[PyTorchView], ...] = (
    Row(
        frozenset({Level.POD}),
        lambda view: bool(view.fragile),
        "{v.words} has restartPolicy Never for {v.fragile}: a deleted or evicted pod fails the whole job within 20 ms",
        "take level in-place or job; for level pod create it with restartPolicy OnFailure or ExitCode",
    ),
    Row(
        frozenset({Level.JOB}),
        lambda view: bool(view.queue) and bool(view.fragile),
        "suspend of {v.words} belongs to Kueue queue {v.queue}, and restartPolicy Never allows no deletion of pods",
        "set spec.active of its Workload to false and back to true",
    ),
)


def supports(view: PyTorchView) -> Support:
    """Return the levels this job can take."""
    return support(view, ROWS)


def restart_plan(
    view: PyTorchView, level: Level, *, pods: Sequence[Pod], lost: Sequence[Pod], ground: Ground
) -> RestartPlan | Refusal:
    """Return the plan for one of ``in-place``, ``pod`` and ``job``, or why it cannot be had."""
    refused = supports(view).refusal(level)
    if refused is not None:
        return refused
    if level is Level.IN_PLACE:
        return in_place(view, pods)
    refused = unfenced(level, ground) or obstacle(level, lost if level is Level.POD else pods, ground)
    if refused is not None:
        return refused
    if level is Level.POD:
        return replace_pods(view, lost, pods=pods, ground=ground, cost=Cost())
    if not view.queue:
        return suspend_and_resume(view, pods=pods, ground=ground, field=("spec", "runPolicy", "suspend"))
    return restart_all(
        view,
        pods=pods,
        ground=ground,
        verb=Verb.DELETE_PODS,
        steps=removals(pods, ground, "suspend belongs to Kueue; the operator makes each missing index again"),
        cost=Cost(),
        because=f"delete all pods, because Kueue queue {view.queue} owns suspend",
    )
