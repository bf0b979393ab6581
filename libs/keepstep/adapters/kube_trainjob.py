"""TrainJob of Kubeflow Trainer v2: suspend and resume, and the one sanctioned way to keep off a node from outside."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstep.adapters.kube_job import IndexedView, replace_in_jobs
from keepstep.adapters.kube_jobset import JobSetView, delete_jobs
from keepstep.adapters.kube_json import JsonObject, condition, flag, holds, number, rows, text
from keepstep.adapters.kube_node import USABLE
from keepstep.adapters.kube_plan import Apply, Ground, RestartPlan
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_steps import in_place, not_closed, obstacle, suspend_and_resume, unfenced
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


def view_of(source: JsonObject, jobset: JobSetView | None) -> TrainView:
    """Return the job as its object and its JobSet show it; the set is None before it is made."""
    ref, version = identity(source)
    manager = text(source, "spec", "managedBy")
    size = number(source, "spec", "trainer", "numNodes", default=1)
    return TrainView(
        ref=ref,
        version=version,
        phase=_phase(source),
        size=size if jobset is None else jobset.size,
        counter=0 if jobset is None else jobset.counter,
        suspended=flag(source, "spec", "suspend"),
        queue=queue_of(source),
        manager="" if manager in ("", CONTROLLER) else manager,
        deleting=is_deleting(source),
        said=text(condition(source, "Failed"), "message"),
        jobs=() if jobset is None else jobset.jobs,
        replicated=next((text(one, "name") for one in rows(source, "status", "jobsStatus")), "node"),
        obstacles="it has no JobSet yet" if jobset is None else "" if jobset.replaceable else jobset.obstacles,
        restarting=jobset is not None and jobset.phase is JobPhase.RESTARTING,
    )


def _phase(source: JsonObject) -> JobPhase:
    if holds(source, "Failed"):
        return JobPhase.FAILED
    if holds(source, "Complete"):
        return JobPhase.SUCCEEDED
    if holds(source, "Suspended"):
        return JobPhase.SUSPENDED
    active = sum(number(one, "active") for one in rows(source, "status", "jobsStatus"))
    return JobPhase.RUNNING if active else JobPhase.PENDING


ROWS: tuple[Row[TrainView], ...] = (
    Row(
        frozenset({Level.POD, Level.JOB}),
        lambda view: view.restarting,
        "the JobSet of {v.words} restarts by its own failurePolicy",
        "watch the restart that is under way",
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: bool(view.obstacles),
        "no pod of {v.words} can be replaced alone: {v.obstacles}",
        "take level job: suspension counts nothing",
    ),
)


def supports(view: TrainView) -> Support:
    """Return the levels this job can take."""
    return support(view, ROWS)


def restart_plan(
    view: TrainView, level: Level, *, pods: Sequence[Pod], lost: Sequence[Pod], ground: Ground
) -> RestartPlan | Refusal:
    """Return the plan for one of ``in-place``, ``pod`` and ``job``, or why it cannot be had."""
    refused = supports(view).refusal(level)
    if refused is not None:
        return refused
    if level is Level.IN_PLACE:
        return in_place(view, pods)
    held = any(job.hold_until_failed for job in view.jobs)
    refused = obstacle(level, lost if level is Level.POD else pods, ground, tracked=held)
    if refused is None and (level is Level.POD or view.queue):
        refused = unfenced(level, ground)
    if refused is not None:
        return refused
    if level is Level.POD:
        return replace_in_jobs(view, view.jobs, pods=pods, lost=lost, ground=ground)
    return delete_jobs(view, view.jobs, pods=pods, ground=ground) if view.queue else _job(view, pods, ground)


def _job(view: TrainView, pods: Sequence[Pod], ground: Ground) -> RestartPlan | Refusal:
    """Keep off nodes that cannot be closed by a nodeSelector under our own key, where enough nodes carry the label."""
    field = ("spec", "suspend")
    opened = ground.open()
    if not opened:
        return suspend_and_resume(view, pods=pods, ground=ground, field=field)
    usable = [
        node
        for node in ground.nodes.values()
        if node.usable and node.ready and not node.closed and node.name not in ground.avoid
    ]
    if len(usable) < view.size:
        remedy = f"isolate it, or label {view.size} usable nodes {USABLE}=yes ({len(usable)} are)"
        return not_closed(Level.JOB, opened, remedy)
    apply = Apply(view.ref, keep_off(view), f"select nodes labelled {USABLE}, which {', '.join(opened)} is not")
    return suspend_and_resume(view, pods=pods, ground=ground, field=field, between=(apply,))


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
