"""A restart as a value: what will be written, what it costs the job's own budget, what must be seen afterwards.

A plan is printed by a dry run and carried out step by step by a shell that knows nothing of job kinds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_node import Node
from keepstep.adapters.kube_objects import ObjectRef, PodUid
from keepstep.adapters.kube_pod import Pod
from keepstep.contracts.ids import IncidentId, NodeName, derive
from keepstep.contracts.taxonomy import Level


class Verb(StrEnum):
    """How the restart is asked for."""

    NOTHING = "nothing"
    """Ranks restart inside living pods; the cluster is not touched."""
    COMMAND = "command"
    SUSPEND = "suspend-resume"
    DELETE_PODS = "delete-pods"
    EVICT_PODS = "evict-pods"
    DELETE_JOBS = "delete-jobs"


class Propagation(StrEnum):
    """What happens to the dependents of a deleted object."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"


class Awaited(StrEnum):
    """What a step waits for before the next."""

    NO_PODS = "no-pods"
    """No pod of the job may still run or is terminating; one that ended stays for its controller's accounts."""
    NOT_ONE = "not-one"
    """No pod of the job exists; one that ended is taken away."""

    def blocked(self, pods: "Sequence[Pod]") -> bool:
        """Return whether one of these pods of the job is waited for."""
        return any(self is Awaited.NOT_ONE or not pod.over or pod.deleted is not None for pod in pods)


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch under the resourceVersion that was read last."""

    target: ObjectRef
    body: JsonObject
    why: str


@dataclass(frozen=True, slots=True)
class Apply:
    """A server-side apply of our own fields alone."""

    target: ObjectRef
    body: JsonObject
    why: str


@dataclass(frozen=True, slots=True)
class Create:
    """A new object."""

    namespace: str
    body: JsonObject
    why: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A deletion under the uid; ``force`` leaves the kubelet no say and is right only when its node is dead."""

    target: ObjectRef
    why: str
    force: bool = False
    propagation: Propagation | None = None


@dataclass(frozen=True, slots=True)
class Evict:
    """An eviction through the API, which respects disruption budgets and marks the pod."""

    target: ObjectRef
    why: str


@dataclass(frozen=True, slots=True)
class Await:
    """A condition that must be seen before the next step."""

    what: Awaited
    why: str


Step: TypeAlias = Patch | Apply | Create | Delete | Evict | Await


@dataclass(frozen=True, slots=True)
class Cost:
    """What the restart takes from the job's own budget; ``delay`` is the controller's own before pods come back."""

    amount: int = 0
    budget: str = ""
    used: int = 0
    limit: int = 0
    delay: timedelta = timedelta(0)

    def __str__(self) -> str:
        free = (
            "costs nothing"
            if not self.amount
            else f"costs {self.amount} of {self.budget} ({self.used} of {self.limit} used)"
        )
        seconds = self.delay.total_seconds()
        return f"{free}, pods come back after {seconds:g} s" if seconds else free


@dataclass(frozen=True, slots=True)
class Expected:
    """What proves that the restart took: this many pods Running, the fresh ones off the nodes named."""

    pods: int
    kept: frozenset[PodUid] = frozenset()
    off: frozenset[NodeName] = frozenset()
    round_above: int | None = None
    """Fresh pods belong to a later making than this."""
    within: timedelta = timedelta(minutes=5)
    """Scheduling and image pull included; afterwards the next level follows."""


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """One restart of one job."""

    level: Level
    verb: Verb
    job: ObjectRef
    steps: tuple[Step, ...]
    cost: Cost
    expected: Expected
    because: str
    before: frozenset[PodUid] = frozenset()
    """The pods it found: the observed generation of the job."""
    leaving: frozenset[PodUid] = frozenset()
    """Those of them that did not live then, or that its own steps take away: that they are gone proves nothing."""
    counter: int = 0
    """The job's counter then."""

    def resumes(self, step: int) -> int | None:
        """Return which step lets the job go on, while it is this plan that holds it down: its next step is ``step``."""
        said = {word: at for at, each in enumerate(self.steps) if (word := suspends(each)) is not None}
        down, up = said.get(True), said.get(False)
        return up if down is not None and up is not None and down < step < up else None

    def key(self, incident: IncidentId) -> str:
        """Return the idempotency key: the same incident over the same pods is the same restart."""
        return derive("restart", incident, self.job.uid, *sorted(self.before))


@dataclass(frozen=True)
class Ground:
    """The nodes, those to keep off, and those proved dead: fenced, switched off, or gone by somebody's word."""

    nodes: Mapping[NodeName, Node] = field(default_factory=dict)
    avoid: frozenset[NodeName] = frozenset()
    proved: frozenset[NodeName] = frozenset()

    def open(self) -> tuple[NodeName, ...]:
        """Return the nodes to avoid that would take a new pod."""
        return tuple(sorted(name for name in self.avoid if name in self.nodes and not self.nodes[name].closed))

    def dead(self, name: NodeName | None) -> bool:
        """Return whether nothing can be running on the node."""
        return name in self.proved or (name is not None and (name not in self.nodes or self.nodes[name].out_of_service))

    def silent(self, name: NodeName | None) -> bool:
        """Return whether nobody on the node would carry out a graceful deletion."""
        return name is not None and (name not in self.nodes or not self.nodes[name].ready)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a restart is planned from. ``pods``: those that exist now; ``lost``: those to replace, which may be gone."""

    pods: Sequence[Pod]
    lost: Sequence[Pod]
    ground: Ground

    def touched(self, level: Level) -> Sequence[Pod]:
        """Return the pods that a restart at this level takes away: the lost ones, or all of them."""
        return self.lost if level is Level.POD else self.pods

    @property
    def hanging(self) -> tuple[Pod, ...]:
        """The pods that nobody on their node would end."""
        return tuple(pod for pod in self.pods if self.ground.silent(pod.node))


def suspends(step: Step) -> bool | None:
    """Return what a step writes into ``suspend``, wherever its kind keeps it; None when nothing."""
    return _suspend_in(step.body) if isinstance(step, Patch) else None


def _suspend_in(body: JsonObject) -> bool | None:
    said = body.get("suspend")
    if isinstance(said, bool):
        return said
    within = (_suspend_in(part) for part in body.values() if isinstance(part, Mapping))
    return next((word for word in within if word is not None), None)


def pod_ref(pod: Pod) -> ObjectRef:
    """Return the reference to a pod."""
    return ObjectRef("v1", "Pod", pod.namespace, pod.name, pod.uid)


def names(pods: Sequence[Pod]) -> str:
    """Return the pods' names for a sentence, at most four of them."""
    shown = ", ".join(pod.name for pod in pods[:4])
    return shown if len(pods) <= 4 else f"{shown} and {len(pods) - 4} more"
