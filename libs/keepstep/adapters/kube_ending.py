"""How a job that is over is kept from being started again by its own controller: pure, a rule for each kind."""

from keepstep.adapters.kube_job import IndexedView
from keepstep.adapters.kube_jobset import JobSetView
from keepstep.adapters.kube_kinds import AnyView
from keepstep.adapters.kube_plan import Create, Patch
from keepstep.adapters.kube_pytorchjob import PyTorchView, Restart
from keepstep.adapters.kube_trainjob import TrainView
from keepstep.adapters.kube_view import FINISHED, JobPhase
from keepstep.adapters.kube_volcano import command_of
from keepstep.adapters.kube_volcano_view import ACTIONS, Means, VolcanoView

_OVER = FINISHED | {JobPhase.SUSPENDED, JobPhase.ABORTED, JobPhase.ENDING}


def ending(view: AnyView, *, lingers: bool) -> Patch | Create | None:
    """Return the write that keeps a failed or stopped job down, None where its own rules already do.

    Where they do, the job ends as failed by its own controller, which is what its author looks for; elsewhere it is
    suspended, and whoever knows better resumes it. ``lingers``: its launchers had their time and did not end, or never
    had a task to end.
    """
    if view.phase in _OVER or view.suspended or view.deleting or not (lingers or _starts_again(view)):
        return None
    why = "keepstep ended the job; its controller would start its pods again"
    match view:
        case VolcanoView():
            return Create(view.ref.namespace, command_of(view.ref, "AbortJob"), why)
        case PyTorchView():
            return Patch(view.ref, {"spec": {"runPolicy": {"suspend": True}}}, why)
        case TrainView() | JobSetView() | IndexedView():
            return Patch(view.ref, {"spec": {"suspend": True}}, why)


def _starts_again(view: AnyView) -> bool:
    """Return whether pods that fail together are made again by the job's own rules."""
    match view:
        case VolcanoView():
            policies = (*view.policies, *(policy for task in view.tasks for policy in task.policies))
            return any(one.hit and ACTIONS.get(one.action, Means.END) is not Means.END for one in policies)
        case PyTorchView():
            return any(policy is not Restart.NEVER for _, policy in view.restart)
        case IndexedView():
            return view.counter + view.size <= view.limit
        case TrainView() | JobSetView():
            return True
