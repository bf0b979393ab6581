"""A Volcano Job as its object shows it, and what its own policies make of a pod that is deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from keepstep.adapters.kube_json import JsonObject, number, rows, text, words
from keepstep.adapters.kube_objects import TERM_CODES
from keepstep.adapters.kube_view import JobPhase, JobView, identity

MAX_RETRY = 3
"""The admission webhook's default; two real restarts, the third ends the job."""

_PHASES: Mapping[str, JobPhase] = {
    "": JobPhase.PENDING,
    "Pending": JobPhase.PENDING,
    "Running": JobPhase.RUNNING,
    "Restarting": JobPhase.RESTARTING,
    "Aborting": JobPhase.ABORTED,
    "Aborted": JobPhase.ABORTED,
    "Completing": JobPhase.ENDING,
    "Terminating": JobPhase.ENDING,
    "Completed": JobPhase.SUCCEEDED,
    "Terminated": JobPhase.FAILED,
    "Failed": JobPhase.FAILED,
}


class Means(StrEnum):
    """What the job's policies make of a deleted pod."""

    POD = "pod"
    """It is made again under the same name; no retry."""
    POD_FOR_RETRY = "pod-for-retry"
    TASK = "task"
    JOB = "job"
    END = "end"


ACTIONS: Mapping[str, Means] = {
    "": Means.POD,
    "SyncJob": Means.POD,
    "RestartPod": Means.POD_FOR_RETRY,
    "RestartTask": Means.TASK,
    "RestartPartition": Means.TASK,
    "RestartJob": Means.JOB,
    "ResumeJob": Means.JOB,
    "AbortJob": Means.END,
    "TerminateJob": Means.END,
    "CompleteJob": Means.END,
}
"""Policy actions; one that is not known here counts as END, so that no pod is deleted under it."""
DELETION_EVENTS = frozenset({"PodEvicted", "PodFailed", "*"})
"""PodEvicted fires when the object is gone; PodFailed because the dying pod turns Failed first."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One entry of ``policies``."""

    events: tuple[str, ...]
    code: int
    action: str

    @property
    def hit(self) -> bool:
        """Whether the deletion of a pod triggers it."""
        return bool(DELETION_EVENTS & set(self.events)) or self.code in TERM_CODES


@dataclass(frozen=True, slots=True)
class Task:
    """One entry of ``tasks``."""

    name: str
    replicas: int
    policies: tuple[Policy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VolcanoView(JobView):
    """A Volcano Job; ``counter`` is retryCount."""

    tasks: tuple[Task, ...] = ()
    policies: tuple[Policy, ...] = ()
    max_retry: int = MAX_RETRY

    @property
    def left(self) -> int:
        """Restarts that do not end the job: retryCount is raised before it is compared with maxRetry."""
        return max(0, self.max_retry - self.counter - 1)

    def means(self, task: str) -> Means:
        """Return what deleting a pod of this task does: the first policy hit, the task's own before the job's."""
        own = next((one.policies for one in self.tasks if one.name == task), ())
        hit = next((policy for policy in (*own, *self.policies) if policy.hit), None)
        return Means.POD if hit is None else ACTIONS.get(hit.action, Means.END)

    @property
    def meanings(self) -> frozenset[Means]:
        """What a deletion does, over all tasks."""
        return frozenset(self.means(task.name) for task in self.tasks)

    @property
    def quiet(self) -> bool:
        """Whether any pod may be deleted without a retry and without a wider action."""
        return self.meanings <= {Means.POD}


def view_of(source: JsonObject) -> VolcanoView:
    """Return the job as its object shows it."""
    tasks = tuple(
        Task(text(one, "name"), number(one, "replicas", default=1), _policies(one))
        for one in rows(source, "spec", "tasks")
    )
    size = sum(task.replicas for task in tasks)
    return VolcanoView(
        **identity(source),
        phase=_PHASES.get(text(source, "status", "state", "phase"), JobPhase.PENDING),
        size=size,
        counter=number(source, "status", "retryCount"),
        said=_said(source),
        tasks=tasks,
        policies=_policies(source, "spec"),
        max_retry=number(source, "spec", "maxRetry", default=MAX_RETRY),
    )


def _policies(source: JsonObject, *path: str) -> tuple[Policy, ...]:
    return tuple(
        Policy(
            events=(*words(one, "events"), *filter(None, (text(one, "event"),))),
            code=number(one, "exitCode"),
            action=text(one, "action"),
        )
        for one in rows(source, *path, "policies")
    )


def _said(source: JsonObject) -> str:
    phase, message = text(source, "status", "state", "phase"), text(source, "status", "state", "message")
    return f"{phase}, retryCount {number(source, 'status', 'retryCount')}" + (f": {message}" if message else "")
