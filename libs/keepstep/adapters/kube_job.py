"""batch/v1 Job with an index per pod: a lost pod comes back late and counts as a failure, suspension is free.

JobSet and TrainJob stand on it: their pods are pods of such Jobs, with the same delay and the same budget.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, condition, number, numbers, rows, table, text
from keepstep.adapters.kube_kind import Kind
from keepstep.adapters.kube_marks import labelled
from keepstep.adapters.kube_objects import TERM_CODES
from keepstep.adapters.kube_plan import Cost, RestartPlan, Scene
from keepstep.adapters.kube_resources import Resource
from keepstep.adapters.kube_steps import replace_pods, suspend_and_resume
from keepstep.adapters.kube_view import (
    ASK_KUEUE,
    SUSPEND_INSTEAD,
    JobPhase,
    JobView,
    Refusal,
    Row,
    held,
    identity,
    stopping,
    support,
    working,
)
from keepstep.adapters.kube_way import Way
from keepstep.contracts.taxonomy import Level

CONTROLLER = "kubernetes.io/job-controller"
BACKOFF_LIMIT = 6
BACKOFF = timedelta(seconds=10)
BACKOFF_MOST = timedelta(minutes=10)
"""Upstream's cap on the delay."""


@dataclass(frozen=True, slots=True)
class FailureRule:
    """One rule of podFailurePolicy; the first that matches a failed pod decides."""

    action: str
    codes: frozenset[int] = frozenset()
    inverted: bool = False
    """``NotIn``: the codes it spares."""
    disruption: bool = False
    """It matches pods with condition DisruptionTarget."""

    def hit_by_deletion(self) -> bool:
        """Return whether the exit of a deleted pod (143, or 137 past its grace) matches."""
        if self.inverted:
            return bool(TERM_CODES - self.codes)
        return bool(TERM_CODES & self.codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedView(JobView):
    """A batch/v1 Job; ``counter`` is status.failed."""

    indexed: bool = True
    limit: int = BACKOFF_LIMIT
    per_index: int | None = None
    hold_until_failed: bool = False
    """podReplacementPolicy Failed: no successor before the old pod's phase is final."""
    rules: tuple[FailureRule, ...] = ()

    @property
    def left(self) -> int:
        """Failures that do not end the Job: it fails when there are more than backoffLimit."""
        return max(0, self.limit - self.counter)

    @property
    def ends_on_deletion(self) -> bool:
        """Whether podFailurePolicy makes a deleted pod the end of the Job."""
        hit = next((rule for rule in self.rules if rule.hit_by_deletion()), None)
        return hit is not None and hit.action == "FailJob"

    @property
    def eviction_is_free(self) -> bool:
        """Whether podFailurePolicy ignores pods that were disrupted."""
        hit = next((rule for rule in self.rules if rule.disruption or rule.hit_by_deletion()), None)
        return hit is not None and hit.disruption and hit.action == "Ignore"

    def delay(self, lost: int) -> timedelta:
        """Return how long the successors of so many pods lost together are kept back: 10 s x 2^(failures - 1)."""
        doubled = 1 << min(self.counter + lost - 1, 10)
        return min(BACKOFF * doubled, BACKOFF_MOST)

    def cost(self, lost: int) -> Cost:
        """Return what losing so many pods together takes."""
        return Cost(lost, f"backoffLimit of {self.words}", self.counter, self.limit, self.delay(lost))


def view_of(source: JsonObject) -> IndexedView:
    """Return the Job as its object shows it."""
    per_index = number(source, "spec", "backoffLimitPerIndex", default=-1)
    return IndexedView(
        **identity(source),
        **stopping(source, ("spec",), own=CONTROLLER),
        phase=held(source, _PHASES) or working(number(source, "status", "active")),
        size=width(table(source, "spec")),
        counter=number(source, "status", "failed"),
        said=_said(source),
        indexed=text(source, "spec", "completionMode") == "Indexed",
        limit=number(source, "spec", "backoffLimit", default=BACKOFF_LIMIT),
        per_index=None if per_index < 0 else per_index,
        hold_until_failed=text(source, "spec", "podReplacementPolicy") == "Failed",
        rules=tuple(_rule(one) for one in rows(source, "spec", "podFailurePolicy", "rules")),
    )


def width(spec: JsonObject) -> int:
    """Return how many pods of a Job run at once."""
    wide = number(spec, "parallelism", default=1)
    return min(wide, number(spec, "completions", default=wide))


_PHASES = (
    ("Failed", JobPhase.FAILED),
    ("FailureTarget", JobPhase.FAILED),
    ("Complete", JobPhase.SUCCEEDED),
    ("SuccessCriteriaMet", JobPhase.SUCCEEDED),
    ("Suspended", JobPhase.SUSPENDED),
)


def _said(source: JsonObject) -> str:
    for kind in ("Failed", "FailureTarget"):
        found = condition(source, kind)
        if found:
            return f"{text(found, 'reason')}: {text(found, 'message')}"
    return ""


def _rule(source: JsonObject) -> FailureRule:
    return FailureRule(
        action=text(source, "action"),
        codes=frozenset(numbers(source, "onExitCodes", "values")),
        inverted=text(source, "onExitCodes", "operator") == "NotIn",
        disruption=any(text(one, "type") == "DisruptionTarget" for one in rows(source, "onPodConditions")),
    )


POD_ROWS: tuple[Row[IndexedView], ...] = (
    Row(
        frozenset({Level.POD}),
        lambda view: not view.indexed,
        "{v.words} has completionMode NonIndexed: a new pod does not take the rank of the old one",
        "set completionMode Indexed",
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: view.ends_on_deletion,
        "podFailurePolicy of {v.words} fails it when a pod ends with code 143 or 137, as a deleted one does",
        "take level job, or leave these codes out of the rule",
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: view.left == 0 and not view.eviction_is_free,
        "{v.words} counts {v.counter} failures of backoffLimit {v.limit}; a deleted pod is one more and ends it",
        SUSPEND_INSTEAD,
    ),
    Row(
        frozenset({Level.POD}),
        lambda view: view.per_index == 0 and not view.eviction_is_free,
        "{v.words} has backoffLimitPerIndex 0: a deleted pod is the end of its index",
        SUSPEND_INSTEAD,
    ),
)
"""What keeps a single pod of a Job from being replaced; JobSet and TrainJob ask the same of their child Jobs."""

ROWS: tuple[Row[IndexedView], ...] = (
    *POD_ROWS,
    Row(
        frozenset({Level.JOB}),
        lambda view: bool(view.queue),
        "suspend of {v.words} belongs to Kueue queue {v.queue}, and deleting {v.size} pods counts as many failures",
        ASK_KUEUE,
    ),
)


def replace_in_jobs(view: JobView, jobs: Sequence[IndexedView], scene: Scene) -> RestartPlan | Refusal:
    """Return the plan that replaces lost pods of these Jobs, on behalf of ``view``; the dearest Job gives the cost."""
    counts = Counter(pod.owner.uid for pod in scene.lost if pod.owner is not None)
    hurt = [job for job in jobs if counts[job.ref.uid]]
    for job in hurt:
        refused = support(job, POD_ROWS).refusal(Level.POD)
        if refused is not None:
            return refused
        if counts[job.ref.uid] > job.left and not job.eviction_is_free:
            return Refusal(
                Level.POD,
                f"{counts[job.ref.uid]} deleted pods are more failures than the {job.left} that {job.words} has left",
                SUSPEND_INSTEAD,
            )
    free = bool(hurt) and all(job.eviction_is_free for job in hurt)
    costs = [job.cost(counts[job.ref.uid]) for job in hurt]
    dearest = max(costs, key=lambda cost: cost.delay, default=Cost())
    return replace_pods(view, scene, cost=Cost() if free else dearest, evict=free)


def _seats(source: JsonObject) -> tuple[str, ...]:
    spec = table(source, "spec")
    return tuple(map(str, range(width(spec)))) if labelled(table(spec, "template")) else ()


JOB = Kind(
    name=JobKind.JOB,
    resource=Resource("batch/v1", "jobs", "Job"),
    builtin=True,
    seats=lambda source, _: _seats(source),
    rules=Way[IndexedView](
        viewed=IndexedView,
        read=lambda source, _: view_of(source),
        rows=ROWS,
        replace=lambda view, scene: replace_in_jobs(view, [view], scene),
        restart=suspend_and_resume,
        tracked=lambda view: view.hold_until_failed,
        again=lambda view: view.counter + view.size <= view.limit,
    ),
)
