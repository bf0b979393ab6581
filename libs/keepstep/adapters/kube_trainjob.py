"""TrainJob of Kubeflow Trainer v2: suspend and resume, and the one sanctioned way to keep off a node from outside."""

from dataclasses import dataclass

from keepstep.adapters import kube_jobset
from keepstep.adapters.kube_job import IndexedView, replace_in_jobs
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_jobset import delete_jobs, hold_until_failed, seats_of
from keepstep.adapters.kube_json import JsonObject, condition, number, rows, text
from keepstep.adapters.kube_kind import Below, Kind
from keepstep.adapters.kube_node import USABLE
from keepstep.adapters.kube_plan import Apply, RestartPlan, Scene
from keepstep.adapters.kube_resources import Resource
from keepstep.adapters.kube_steps import not_closed, suspend_and_resume
from keepstep.adapters.kube_view import (
    SUSPEND_INSTEAD,
    WATCH_INSTEAD,
    JobPhase,
    JobView,
    Refusal,
    Row,
    held,
    identity,
    stopping,
    working,
)
from keepstep.adapters.kube_way import Way
from keepstep.contracts.taxonomy import Level

CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
MANAGER = "keepstep.io/keepstep"
"""The key of our own entry in runtimePatches; the entries of others are theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainView(JobView):
    """A TrainJob with the JobSet it made, which bears its name."""

    jobs: tuple[IndexedView, ...] = ()
    replicated: str = "node"
    """The replicated job that trains."""
    obstacles: str = ""
    """Why no pod of it can be replaced alone, "" when one can."""
    restarting: bool = False
    """Its JobSet restarts by a failurePolicy."""


def view_of(source: JsonObject, below: Below) -> TrainView:
    """Return the job as its object and its JobSet show it."""
    jobset = None if below.jobset is None else kube_jobset.view_of(below.jobset, below)
    size = number(source, "spec", "trainer", "numNodes", default=1)
    return TrainView(
        **identity(source),
        **stopping(source, ("spec",), own=CONTROLLER),
        phase=_phase(source),
        size=size if jobset is None else jobset.size,
        counter=0 if jobset is None else jobset.counter,
        said=text(condition(source, "Failed"), "message"),
        jobs=() if jobset is None else jobset.jobs,
        replicated=next((text(one, "name") for one in rows(source, "status", "jobsStatus")), "node"),
        obstacles="it has no JobSet yet" if jobset is None else "" if jobset.replaceable else jobset.obstacles,
        restarting=jobset is not None and jobset.phase is JobPhase.RESTARTING,
    )


_PHASES = (("Failed", JobPhase.FAILED), ("Complete", JobPhase.SUCCEEDED), ("Suspended", JobPhase.SUSPENDED))


def _phase(source: JsonObject) -> JobPhase:
    active = sum(number(one, "active") for one in rows(source, "status", "jobsStatus"))
    return held(source, _PHASES) or working(active)


ROWS: tuple[Row[TrainView], ...] = (
    Row(
        frozenset({Level.POD, Level.JOB}),
        lambda view: view.restarting,
        "the JobSet of {v.words} restarts by its own failurePolicy",
        WATCH_INSTEAD,
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: bool(view.obstacles),
        "no pod of {v.words} can be replaced alone: {v.obstacles}",
        SUSPEND_INSTEAD,
    ),
)


def _restart(view: TrainView, scene: Scene) -> RestartPlan | Refusal:
    """Keep off nodes that cannot be closed by a nodeSelector under our own key, where enough nodes carry the label."""
    if view.queue:
        return delete_jobs(view, view.jobs, scene)
    ground, opened = scene.ground, scene.ground.open()
    if not opened:
        return suspend_and_resume(view, scene)
    usable = [
        node
        for node in ground.nodes.values()
        if node.usable and node.ready and not node.closed and node.name not in ground.avoid
    ]
    if len(usable) < view.size:
        remedy = f"isolate it, or label {view.size} usable nodes {USABLE}=yes ({len(usable)} are)"
        return not_closed(Level.JOB, opened, remedy)
    apply = Apply(view.ref, keep_off(view), f"select nodes labelled {USABLE}, which {', '.join(opened)} is not")
    return suspend_and_resume(view, scene, between=(apply,))


def keep_off(view: TrainView) -> JsonObject:
    """Return the server-side apply of our runtimePatches entry alone.

    nodeSelector and not affinity: the JobSet webhook refuses that, and the resumed job would get no pod at all. Taking
    the entry out later does not reach child Jobs that exist, so a cordon is the better way wherever it is allowed.
    """
    template = {"spec": {"nodeSelector": {USABLE: "yes"}}}
    job = {"name": view.replicated, "template": {"spec": {"template": template}}}
    entry = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
    return {
        "apiVersion": view.ref.api,
        "kind": view.ref.kind,
        "metadata": {"name": view.ref.name, "namespace": view.ref.namespace},
        "spec": {"runtimePatches": [entry]},
    }


TRAINJOB = Kind(
    name=JobKind.TRAINJOB,
    resource=Resource("trainer.kubeflow.org/v1alpha1", "trainjobs", "TrainJob"),
    made_of=(JobKind.JOBSET, JobKind.JOB),
    seats=lambda _, below: () if below.jobset is None else tuple(seats_of(below.jobset)),
    rules=Way[TrainView](
        viewed=TrainView,
        read=view_of,
        rows=ROWS,
        replace=lambda view, scene: replace_in_jobs(view, view.jobs, scene),
        restart=_restart,
        tracked=lambda view: hold_until_failed(view.jobs),
        keeps_off=lambda view: not view.queue,
    ),
)
