"""Who is who in a training run: job, task, rank, node, and the specification a job is created from."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from keepstep.contracts.ids import JobUid, NodeName, Pool, TaskUid
from keepstep.contracts.model import Frozen, Strict
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Framework

LARGEST_SPEC = 256 * 1024
"""Bytes of a job's specification as JSON: it is in every task's launch, and in folds that must fit into one message."""

JOB_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
"""A job's name is a label of its pods: the DNS label of RFC 1123, which is what Kubernetes takes."""


class JobRef(Frozen):
    """A training run; it survives restarts."""

    name: str
    uid: JobUid


class TaskRef(Frozen):
    """One incarnation of one task (pod or local process group) of a job; a replacement has a new uid."""

    name: str
    uid: TaskUid
    index: int = Field(ge=0)


class Device(Frozen):
    """An accelerator that a task was given, as a rank table names it; "" where the node does not tell."""

    id: str
    address: str = ""
    """Its own on the parameter plane."""
    super_id: str = ""
    """Its number in its super pod."""


class Culprit(Frozen):
    """What a verdict blames, as precisely as is known; all None is never written, the verdict has None instead."""

    node: NodeName | None = None
    task: TaskUid | None = None
    rank: int | None = None
    device: str | None = None


class Script(Strict):
    """A Python file run as ``__main__``; warm ranks can run it."""

    kind: Literal["script"] = "script"
    path: str
    args: tuple[str, ...] = ()


class Module(Strict):
    """A Python module run like ``python -m``; warm ranks can run it."""

    kind: Literal["module"] = "module"
    name: str
    args: tuple[str, ...] = ()


class Command(Strict):
    """Any other command; every start is cold."""

    kind: Literal["command"] = "command"
    argv: tuple[str, ...] = Field(min_length=1)


Entrypoint = Annotated[Script | Module | Command, Field(discriminator="kind")]


class JobSpec(Strict):
    """What a job is created from; paths are absolute on the machine where the ranks run."""

    name: str = Field(pattern=JOB_NAME)
    entrypoint: Entrypoint
    nodes: int = Field(default=1, ge=1, le=100_000)
    nproc: int = Field(default=1, ge=1, le=1024)
    cwd: str = "."
    env: dict[str, str] = Field(default_factory=dict)
    checkpoint_dir: str | None = None
    resume_arg: str | None = None
    node_group: str | None = None
    framework: Framework = Framework.PYTORCH
    rank_table: Literal["1.0", "1.2", "2.0"] = "1.0"
    """Version of the rank table that MindSpore's ranks are given."""
    labels: dict[str, str] = Field(default_factory=dict)
    """What rules of notifications match by, as ``team`` to ``nlp``."""
    policy: Policy = Policy()

    @property
    def world_size(self) -> int:
        """Number of ranks of the job."""
        return self.nodes * self.nproc

    def ranks_of(self, index: int) -> tuple[int, ...]:
        """Return the global ranks of the task with this index, local rank ascending."""
        return tuple(range(index * self.nproc, (index + 1) * self.nproc))

    def for_tasks(self) -> "JobSpec":
        """Return what its tasks are given: not who is told, since a script can read it and addresses are secrets."""
        policy = self.policy.model_copy(update={"notification": NotificationPolicy()})
        return self.model_copy(update={"policy": policy})

    @model_validator(mode="after")
    def _paths_and_placeholders(self) -> Self:
        if self.checkpoint_dir is not None and not Path(self.checkpoint_dir).is_absolute():
            raise ValueError(f"checkpoint_dir {self.checkpoint_dir!r} must be absolute")
        if self.resume_arg is not None and "{path}" not in self.resume_arg and "{step}" not in self.resume_arg:
            raise ValueError("resume_arg must contain {path} or {step}, as in --resume={path}")
        return self


class TaskLaunch(Frozen):
    """Everything an agent and a launcher need to know to run one incarnation of one task."""

    pool: Pool
    job: JobRef
    task: TaskRef
    spec: JobSpec
