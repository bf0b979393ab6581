"""The one place that knows which job kinds there are; a sixth is a file like theirs, a ``JobKind`` and a row here."""

from collections.abc import Mapping, Sequence

from keepstep.adapters.kube_job import JOB
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_jobset import JOBSET
from keepstep.adapters.kube_kind import Kind
from keepstep.adapters.kube_objects import group
from keepstep.adapters.kube_plan import Ground, RestartPlan, Scene
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_pytorchjob import PYTORCHJOB
from keepstep.adapters.kube_trainjob import TRAINJOB
from keepstep.adapters.kube_view import JobView, Refusal, Support
from keepstep.adapters.kube_volcano import VOLCANO
from keepstep.contracts.taxonomy import Level

KINDS: Mapping[JobKind, Kind] = {each.name: each for each in (VOLCANO, PYTORCHJOB, TRAINJOB, JOBSET, JOB)}
_BY_OBJECT = {(group(each.resource.api), each.resource.kind): each for each in KINDS.values()}
_BY_VIEW = {each.rules.viewed: each for each in KINDS.values()}


def kind_at(api: str, word: str) -> Kind | None:
    """Return the kind of an object by its ``apiVersion``, of whatever version, and ``kind``; None for any other."""
    return _BY_OBJECT.get((group(api), word))


def spelled() -> Sequence[tuple[str, str]]:
    """Return each kind as people tell it from others: its word and its API group."""
    return tuple((word, prefix) for prefix, word in _BY_OBJECT)


def kind_of(view: JobView) -> Kind:
    """Return the kind whose rules made a view."""
    return _BY_VIEW[type(view)]


def supports(view: JobView) -> Support:
    """Return the levels a job can take and why not the others."""
    return kind_of(view).rules.supports(view)


def restart_plan(
    view: JobView, level: Level, *, pods: Sequence[Pod], lost: Sequence[Pod], ground: Ground
) -> RestartPlan | Refusal:
    """Return the plan that restarts a job at this level, or why it cannot be had and what would help.

    ``pods``: those that exist now; ``lost``: those to replace, which may be gone already; a level job takes all.
    """
    return kind_of(view).rules.plan(view, level, Scene(pods, lost, ground))
