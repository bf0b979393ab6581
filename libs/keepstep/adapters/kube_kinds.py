"""The one place that knows there are five kinds: each call goes to the kind's own file."""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from keepstep.adapters import (
    kube_job,
    kube_jobset,
    kube_pytorchjob,
    kube_trainjob,
    kube_volcano,
    kube_volcano_view,
)
from keepstep.adapters.kube_job import IndexedView
from keepstep.adapters.kube_jobset import JobSetView
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_owner import JobKind
from keepstep.adapters.kube_plan import Ground, RestartPlan, Scene
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_pytorchjob import PyTorchView
from keepstep.adapters.kube_trainjob import TrainView
from keepstep.adapters.kube_view import Refusal, Support
from keepstep.adapters.kube_volcano_view import VolcanoView
from keepstep.contracts.taxonomy import Level

AnyView: TypeAlias = VolcanoView | PyTorchView | TrainView | JobSetView | IndexedView


def view_of(
    kind: JobKind, source: JsonObject, *, jobs: Sequence[JsonObject] = (), jobset: JsonObject | None = None
) -> AnyView:
    """Return the view of a job. ``jobs``: child Jobs of a JobSet or TrainJob; ``jobset``: the set of a TrainJob."""
    children = [kube_job.view_of(job) for job in jobs]
    match kind:
        case JobKind.VOLCANO:
            return kube_volcano_view.view_of(source)
        case JobKind.PYTORCHJOB:
            return kube_pytorchjob.view_of(source)
        case JobKind.TRAINJOB:
            return kube_trainjob.view_of(source, None if jobset is None else kube_jobset.view_of(jobset, children))
        case JobKind.JOBSET:
            return kube_jobset.view_of(source, children)
        case JobKind.JOB:
            return kube_job.view_of(source)
        case other:
            assert_never(other)


def supports(view: AnyView) -> Support:
    """Return the levels a job can take and why not the others."""
    match view:
        case VolcanoView():
            return kube_volcano.WAY.supports(view)
        case PyTorchView():
            return kube_pytorchjob.WAY.supports(view)
        case TrainView():
            return kube_trainjob.WAY.supports(view)
        case JobSetView():
            return kube_jobset.WAY.supports(view)
        case IndexedView():
            return kube_job.WAY.supports(view)
        case other:
            assert_never(other)


def restart_plan(
    view: AnyView, level: Level, *, pods: Sequence[Pod], lost: Sequence[Pod], ground: Ground
) -> RestartPlan | Refusal:
    """Return the plan that restarts a job at this level, or why it cannot be had and what would help.

    ``pods``: those that exist now; ``lost``: those to replace, which may be gone already; a level job takes all.
    """
    scene = Scene(pods, lost, ground)
    match view:
        case VolcanoView():
            return kube_volcano.WAY.plan(view, level, scene)
        case PyTorchView():
            return kube_pytorchjob.WAY.plan(view, level, scene)
        case TrainView():
            return kube_trainjob.WAY.plan(view, level, scene)
        case JobSetView():
            return kube_jobset.WAY.plan(view, level, scene)
        case IndexedView():
            return kube_job.WAY.plan(view, level, scene)
        case other:
            assert_never(other)
