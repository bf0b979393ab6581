"""JobSet: by itself it restarts when a child Job fails; from outside it is suspended, or its Jobs are deleted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keepstep.adapters import kube_job
from keepstep.adapters.kube_job import POD_ROWS, IndexedView, replace_in_jobs, width
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, condition, number, rows, table, text
from keepstep.adapters.kube_kind import Below, Kind
from keepstep.adapters.kube_marks import labelled
from keepstep.adapters.kube_plan import Cost, Delete, Propagation, RestartPlan, Scene, Verb
from keepstep.adapters.kube_resources import Resource
from keepstep.adapters.kube_steps import removals, restart_all, suspend_and_resume
from keepstep.adapters.kube_view import (
    SUSPEND_INSTEAD,
    WATCH_INSTEAD,
    JobPhase,
    JobView,
    Row,
    held,
    identity,
    stopping,
    support,
    working,
)
from keepstep.adapters.kube_way import Way
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


def view_of(source: JsonObject, below: Below) -> JobSetView:
    """Return the set as its object and its child Jobs show it."""
    return JobSetView(
        **identity(source),
        **stopping(source, ("spec",), own=CONTROLLER),
        phase=_phase(source),
        size=sum(number(one, "replicas", default=1) * width(_job_spec(one)) for one in _roles(source)),
        counter=number(source, "status", "restarts"),
        said=text(condition(source, "Failed"), "message"),
        jobs=tuple(map(kube_job.view_of, below.jobs)),
    )


def seats_of(source: JsonObject) -> Iterator[str]:
    """Yield the seats of a set's pods, by task index."""
    for role in _roles(source):
        spec = _job_spec(role)
        if labelled(table(spec, "template")):
            for job in range(number(role, "replicas", default=1)):
                yield from (f"{text(role, 'name')}-{job}-{index}" for index in range(width(spec)))


def _roles(source: JsonObject) -> Sequence[JsonObject]:
    return rows(source, "spec", "replicatedJobs")


def _job_spec(role: JsonObject) -> JsonObject:
    return table(role, "template", "spec")


_TERMINAL = {"Failed": JobPhase.FAILED, "Completed": JobPhase.SUCCEEDED}
_PHASES = (
    *_TERMINAL.items(),
    ("Suspended", JobPhase.SUSPENDED),
    ("RestartingJobSet", JobPhase.RESTARTING),
)


def _phase(source: JsonObject) -> JobPhase:
    active = sum(number(one, "active") for one in rows(source, "status", "replicatedJobsStatus"))
    return _TERMINAL.get(text(source, "status", "terminalState")) or held(source, _PHASES) or working(active)


ROWS: tuple[Row[JobSetView], ...] = (
    Row(
        frozenset({Level.POD, Level.JOB}),
        lambda view: view.phase is JobPhase.RESTARTING,
        "{v.words} restarts by its own failurePolicy",
        WATCH_INSTEAD,
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: not view.replaceable,
        "no child Job of {v.words} lets a pod be replaced: {v.obstacles}",
        SUSPEND_INSTEAD,
    ),
)


def delete_jobs(view: JobView, jobs: Sequence[IndexedView], scene: Scene) -> RestartPlan:
    """Return the plan that deletes all child Jobs: the set makes them again under the same attempt, at no cost.

    Foreground, so that no old pod overlaps with a new one; a pod that hangs would leave half a job, so it goes first.
    """
    why = f"suspend belongs to Kueue queue {view.queue}; the set makes a missing Job again"
    return restart_all(
        view,
        scene,
        verb=Verb.DELETE_JOBS,
        steps=(
            *removals(scene.hanging, scene.ground, "its node is dead and nobody there would end it"),
            *(Delete(job.ref, why, propagation=Propagation.FOREGROUND) for job in jobs),
        ),
        cost=Cost(),
        because=f"delete {len(jobs)} child Jobs, because Kueue queue {view.queue} owns suspend",
    )


def hold_until_failed(jobs: Sequence[IndexedView]) -> bool:
    """Return whether a child Job keeps a dead pod by its finalizer."""
    return any(job.hold_until_failed for job in jobs)


JOBSET = Kind(
    name=JobKind.JOBSET,
    resource=Resource("jobset.x-k8s.io/v1alpha2", "jobsets", "JobSet"),
    made_of=(JobKind.JOB,),
    seats=lambda source, _: tuple(seats_of(source)),
    rules=Way[JobSetView](
        viewed=JobSetView,
        read=view_of,
        rows=ROWS,
        replace=lambda view, scene: replace_in_jobs(view, view.jobs, scene),
        restart=lambda view, scene: (
            delete_jobs(view, view.jobs, scene) if view.queue else suspend_and_resume(view, scene)
        ),
        tracked=lambda view: hold_until_failed(view.jobs),
    ),
)
