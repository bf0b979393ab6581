"""Events about jobs whose pods are made by a controller of the cluster: found, finished, and restarts it refused."""

from enum import StrEnum

from pydantic import Field

from keepstep.contracts.message import Event
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobRef, JobSpec


class LevelRefusal(Frozen):
    """A level that a job's own kind, policies or budget rule out, why, and what would make it possible."""

    level: Level
    because: str
    remedy: str


class Finish(StrEnum):
    """How a job's own controller, or whoever deleted its object, ended it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DELETED = "deleted"


class JobCreated(Event):
    """A person's order became an object of the cluster: ``job`` is what keepstep finds there, as any other.

    ``kind`` names the object as people know it: ``PyTorchJob default/llama``.
    """

    ordered: JobRef
    """The job as its order called it, before there was an object with a uid."""
    kind: str
    by: str


class JobFound(Event):
    """A job object that carries keepstep's specification is there, or its levels changed; accepted like an order.

    ``kind`` names the object as people know it: ``PyTorchJob default/llama``.
    """

    spec: JobSpec
    kind: str
    levels: tuple[Level, ...]
    refusals: tuple[LevelRefusal, ...] = ()
    resumed: bool = False
    """Somebody resumed it after keepstep had ended it: it is not started again, and put down once more."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Of the object, without keepstep's own; what rules of notifications match by."""


class JobFinished(Event):
    """A job object ended by its own controller's word, or was deleted; ``because`` is in the cluster's words."""

    how: Finish
    because: str


class RestartFailed(Event):
    """The cluster cannot carry out a restart, or carried it out otherwise than planned; the next level follows."""

    attempt: int
    level: Level
    to_generation: int
    because: str
