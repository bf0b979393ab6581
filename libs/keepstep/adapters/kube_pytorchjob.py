"""PyTorchJob of training-operator v1: under restartPolicy Never the loss of one pod fails the whole job for good."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, condition, number, table, text
from keepstep.adapters.kube_kind import Kind
from keepstep.adapters.kube_marks import labelled
from keepstep.adapters.kube_plan import Awaited, Cost, RestartPlan, Scene, Verb
from keepstep.adapters.kube_resources import Resource
from keepstep.adapters.kube_steps import removals, replace_pods, restart_all, suspend_and_resume, suspended
from keepstep.adapters.kube_view import ASK_KUEUE, JobPhase, JobView, Row, held, identity, stopping
from keepstep.adapters.kube_way import Way
from keepstep.contracts.taxonomy import Level

OPERATOR = "kubeflow.org/training-operator"
_POLICY = ("spec", "runPolicy")
_SPECS = ("spec", "pytorchReplicaSpecs")
_RANKS: Mapping[str, int] = {"Master": 0}
"""A master holds rank 0, whatever order the replica types are written in."""


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
    specs = table(source, *_SPECS)
    return PyTorchView(
        **identity(source),
        **stopping(source, _POLICY, own=OPERATOR),
        phase=held(source, _PHASES) or JobPhase.PENDING,
        size=sum(number(specs, kind, "replicas", default=1) for kind in specs),
        said=text(condition(source, "Failed"), "message"),
        restart=tuple((kind, Restart(text(specs, kind, "restartPolicy") or Restart.NEVER)) for kind in sorted(specs)),
    )


_PHASES = (
    ("Failed", JobPhase.FAILED),
    ("Succeeded", JobPhase.SUCCEEDED),
    ("Suspended", JobPhase.SUSPENDED),
    ("Restarting", JobPhase.RESTARTING),
    ("Running", JobPhase.RUNNING),
)


ROWS: tuple[Row[PyTorchView], ...] = (
    Row(
        frozenset({Level.POD}),
        lambda view: bool(view.fragile),
        "{v.words} has restartPolicy Never for {v.fragile}: a deleted or evicted pod fails the whole job within 20 ms",
        "take level in-place or job; for level pod create it with restartPolicy ExitCode",
    ),
    Row(
        frozenset({Level.JOB}),
        lambda view: bool(view.queue) and bool(view.fragile),
        "suspend of {v.words} belongs to Kueue queue {v.queue}, and restartPolicy Never allows no deletion of pods",
        ASK_KUEUE,
    ),
)


def _restart(view: PyTorchView, scene: Scene) -> RestartPlan:
    if not view.queue:
        return suspend_and_resume(view, scene, at=_POLICY, left=Awaited.NOT_ONE)  # it fails for good on one that Failed
    why = "suspend belongs to Kueue; the operator makes each missing index again"
    return restart_all(
        view,
        scene,
        verb=Verb.DELETE_PODS,
        steps=removals(scene.pods, scene.ground, why),
        cost=Cost(),
        because=f"delete all pods, because Kueue queue {view.queue} owns suspend",
    )


def _seats(source: JsonObject) -> Iterator[str]:
    specs = table(source, *_SPECS)
    for role in sorted(specs, key=lambda role: (_RANKS.get(role, 1), role)):
        if labelled(table(specs, role, "template")):
            yield from (f"{role.lower()}-{index}" for index in range(number(specs, role, "replicas", default=1)))


PYTORCHJOB = Kind(
    name=JobKind.PYTORCHJOB,
    resource=Resource("kubeflow.org/v1", "pytorchjobs", "PyTorchJob"),
    seats=lambda source, _: tuple(_seats(source)),
    rules=Way[PyTorchView](
        viewed=PyTorchView,
        read=lambda source, _: view_of(source),
        rows=ROWS,
        replace=lambda view, scene: replace_pods(view, scene, cost=Cost()),
        restart=_restart,
        again=lambda view: any(policy is not Restart.NEVER for _, policy in view.restart),
        down=lambda view, why: suspended(view, why, at=_POLICY),
    ),
)
