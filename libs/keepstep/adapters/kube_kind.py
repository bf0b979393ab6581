"""What keepstep knows of a job kind: one description each, in the kind's own file, from which everything else reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_plan import Create, Patch, RestartPlan, Scene
from keepstep.adapters.kube_resources import Resource
from keepstep.adapters.kube_view import JobView, Refusal, Support
from keepstep.contracts.taxonomy import Level


@dataclass(frozen=True, slots=True)
class Below:
    """The objects that a job is made of, as the server shows them."""

    jobset: JsonObject | None = None
    """The set of a TrainJob, None before it is made."""
    jobs: Sequence[JsonObject] = ()
    """The child Jobs of a JobSet or TrainJob."""


NOTHING_BELOW = Below()


class Rules(Protocol):
    """How the jobs of a kind are read and restarted; a view given back is one that ``read`` returned."""

    @property
    def viewed(self) -> type[JobView]:
        """What its jobs are read as; no other kind reads that."""

    def read(self, source: JsonObject, below: Below, /) -> JobView:
        """Return the job as its object and those below it show it."""

    def supports(self, view: JobView) -> Support:
        """Return the levels this job can take and why not the others."""

    def plan(self, view: JobView, level: Level, scene: Scene) -> RestartPlan | Refusal:
        """Return the plan that restarts a job at this level, or why it cannot be had and what would help."""

    def goes_on(self, view: JobView) -> bool:
        """Return whether the job's own rules make pods again that fail together."""

    def put_down(self, view: JobView, why: str) -> Patch | Create:
        """Return the write after which its controller makes no more pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One job kind."""

    name: JobKind
    resource: Resource
    """Where its objects live; ``resource.kind`` is also what people call it, and two of them are called Job."""
    made_of: tuple[JobKind, ...] = ()
    """The kinds of the objects that a job is made of beside its own, topmost first."""
    builtin: bool = False
    """Every cluster has it; the others come with an operator."""
    leaves_dead: bool = False
    """Its controller leaves a pod that ended as it is until somebody takes it away."""
    seats: Callable[[JsonObject, Below], Sequence[str]]
    """The seats of the pods that are keepstep's, by task index and as ``Pod.seat`` names them; none before it is known.

    Templates without keepstep's label are other people's pods: a logger, a parameter server.
    """
    rules: Rules
