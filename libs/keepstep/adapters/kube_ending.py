"""How a job that is over is kept from being started again by its own controller: pure."""

from keepstep.adapters.kube_kinds import kind_of
from keepstep.adapters.kube_plan import Create, Patch
from keepstep.adapters.kube_view import FINISHED, JobPhase, JobView

_OVER = FINISHED | {JobPhase.SUSPENDED, JobPhase.ABORTED, JobPhase.ENDING}


def ending(view: JobView, *, lingers: bool) -> Patch | Create | None:
    """Return the write that keeps a failed or stopped job down, None where its own rules already do.

    Where they do, the job ends as failed by its own controller, which is what its author looks for; elsewhere it is
    suspended, and whoever knows better resumes it. ``lingers``: its launchers had their time and did not end, or never
    had a task to end.
    """
    rules = kind_of(view).rules
    if view.phase in _OVER or view.suspended or view.deleting or not (lingers or rules.goes_on(view)):
        return None
    return rules.put_down(view, "keepstep ended the job; its controller would start its pods again")
