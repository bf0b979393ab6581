"""A job as people describe it in a form or to the API, and what would come of it."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from keepstep.asking import tolerance_args
from keepstep.asking.mistakes import explained
from keepstep.asking.refused import Refused
from keepstep.contracts.kubernetes import KubernetesJob, OnKubernetes
from keepstep.contracts.model import Frozen, Strict
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Framework
from keepstep.contracts.topology import JobSpec


class JobAsked(Strict):
    """A job as people describe it: the same fields, checks and words as ``keepstep job create``."""

    argv: tuple[str, ...]
    """A .py file with its arguments, ``-m module``, or any command; on Kubernetes a command of the image."""
    name: str | None = None
    nodes: int = 1
    nproc: int | None = None
    """Ranks per node; 1 unless it is said, on Kubernetes one for each device."""
    cwd: str | None = None
    """Where it runs and relative paths begin; where the console was started unless it is said."""
    env: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    checkpoint_dir: str | None = None
    resume_arg: str | None = None
    policy: dict[str, Any] | None = None
    """As in a policy file."""
    fault_tolerance_args: str | None = None
    """The flags of other platforms, in one text."""
    fault_tolerance_config: str | None = None
    """The same as a JSON object, as text."""
    framework: Framework | None = None
    """On Kubernetes: what trains; it has its variables set and its levels known."""
    kubernetes: OnKubernetes | None = None
    """Where the pool's jobs are objects of a Kubernetes: which object, and what its pods are given."""


class Checked(Frozen):
    """What would be created, and what a person should know of it."""

    spec: JobSpec
    kubernetes: KubernetesJob | None = None
    warnings: tuple[str, ...] = ()
    """What would restart the job too often."""
    notes: tuple[str, ...] = ()
    """What was read of the command, and which levels the job will have."""


def policy_of(asked: JobAsked) -> Policy:
    """Return the policy of a form; raises Refused for a mistake, and where it is said in two forms."""
    forms: Mapping[str, object] = {
        "policy": asked.policy,
        "fault_tolerance_args": asked.fault_tolerance_args,
        "fault_tolerance_config": asked.fault_tolerance_config,
    }
    tolerance_args.in_one_form(forms)
    if asked.fault_tolerance_args is not None:
        return tolerance_args.of_flags(asked.fault_tolerance_args)
    if asked.fault_tolerance_config is not None:
        return tolerance_args.of_config(asked.fault_tolerance_config)
    try:
        return Policy.model_validate(asked.policy or {})
    except ValidationError as error:
        raise Refused(*(f"policy: {one}" for one in explained(error, Policy))) from error
