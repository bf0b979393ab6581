"""JobSet: by itself it restarts when a child Job fails; from outside it is suspended, or its Jobs are deleted."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstep.adapters.kube_job import POD_ROWS, IndexedView, replace_in_jobs
from keepstep.adapters.kube_json import JsonObject, condition, flag, holds, number, rows, text
from keepstep.adapters.kube_plan import Cost, Delete, Ground, Propagation, RestartPlan, Verb
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_steps import in_place, obstacle, removals, restart_all, suspend_and_resume, unfenced
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

CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSetView(JobView):
    """A JobSet and its child Jobs; ``counter`` is status.restarts, which suspension does not raise."""

    jobs: tuple[IndexedView, ...] = ()

    @property
    def replaceable(self) -> bool:
        """Whether some child Job lets a single pod be replaced."""
        return any(support(job, POD_ROWS).refusal(Level.POD) is None for job in self.jobs)

    @property
    def obstacles(self) -> str:
        """Why none does."""
        refusals = (support(job, POD_ROWS).refusal(Level.POD) for job in self.jobs)
        return next((refused.because for refused in refusals if refused is not None), "it has no child Jobs now")


def view_of(source: JsonObject, jobs: Sequence[IndexedView]) -> JobSetView:
    """Return the set as its object and its child Jobs show it."""
    ref, version = identity(source)
    manager = text(source, "spec", "managedBy")
    return JobSetView(
        ref=ref,
        version=version,
        phase=_phase(source),
        size=sum(_width(one) for one in rows(source, "spec", "replicatedJobs")),
        counter=number(source, "status", "restarts"),
        suspended=flag(source, "spec", "suspend"),
        queue=queue_of(source),
        manager="" if manager in ("", CONTROLLER) else manager,
        deleting=is_deleting(source),
        said=text(condition(source, "Failed"), "message"),
        jobs=tuple(jobs),
    )


def _width(source: JsonObject) -> int:
    wanted = number(source, "template", "spec", "parallelism", default=1)
    return number(source, "replicas", default=1) * min(
        wanted, number(source, "template", "spec", "completions", default=wanted)
    )


def _phase(source: JsonObject) -> JobPhase:
    terminal = text(source, "status", "terminalState")
    if holds(source, "Failed") or terminal == "Failed":
        return JobPhase.FAILED
    if holds(source, "Completed") or terminal == "Completed":
        return JobPhase.SUCCEEDED
    if holds(source, "Suspended"):
        return JobPhase.SUSPENDED
    if holds(source, "RestartingJobSet"):
        return JobPhase.RESTARTING
    active = sum(number(one, "active") for one in rows(source, "status", "replicatedJobsStatus"))
    return JobPhase.RUNNING if active else JobPhase.PENDING


ROWS: tuple[Row[JobSetView], ...] = (
    Row(
        frozenset({Level.POD, Level.JOB}),
        lambda view: view.phase is JobPhase.RESTARTING,
        "{v.words} restarts by its own failurePolicy",
        "watch the restart that is under way",
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: not view.replaceable,
        "no child Job of {v.words} lets a pod be replaced: {v.obstacles}",
        "take level job: suspension counts nothing",
    ),
)


def supports(view: JobSetView) -> Support:
    """Return the levels this set can take."""
    return support(view, ROWS)


def restart_plan(
    view: JobSetView, level: Level, *, pods: Sequence[Pod], lost: Sequence[Pod], ground: Ground
) -> RestartPlan | Refusal:
    """Return the plan for one of ``in-place``, ``pod`` and ``job``, or why it cannot be had."""
    refused = supports(view).refusal(level)
    if refused is not None:
        return refused
    if level is Level.IN_PLACE:
        return in_place(view, pods)
    held = any(job.hold_until_failed for job in view.jobs)
    refused = unfenced(level, ground) or obstacle(level, lost if level is Level.POD else pods, ground, tracked=held)
    if refused is not None:
        return refused
    if level is Level.POD:
        return replace_in_jobs(view, view.jobs, pods=pods, lost=lost, ground=ground)
    if view.queue:
        return delete_jobs(view, view.jobs, pods=pods, ground=ground)
    return suspend_and_resume(view, pods=pods, ground=ground, field=("spec", "suspend"))


def delete_jobs(view: JobView, jobs: Sequence[IndexedView], *, pods: Sequence[Pod], ground: Ground) -> RestartPlan:
    """Return the plan that deletes all child Jobs: the set makes them again under the same attempt, at no cost.

    Foreground, so that no old pod overlaps with a new one; a pod that hangs would leave half a job, so it goes first.
    """
    hanging = [pod for pod in pods if ground.silent(pod.node)]
    why = f"suspend belongs to Kueue queue {view.queue}; the set makes a missing Job again"
    return restart_all(
        view,
        pods=pods,
        ground=ground,
        verb=Verb.DELETE_JOBS,
        steps=(
            *removals(hanging, ground, "its node is dead and nobody there would end it"),
            *(Delete(job.ref, why, propagation=Propagation.FOREGROUND) for job in jobs),
        ),
        cost=Cost(),
        because=f"delete {len(jobs)} child Jobs, because Kueue queue {view.queue} owns suspend",
    )
