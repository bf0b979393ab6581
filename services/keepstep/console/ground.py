"""What the pool's jobs are made on: nodes of its own, or a Kubernetes, whose jobs are objects in some namespaces."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from keepstep.asking.cautions import cautions
from keepstep.asking.labels import check_labels
from keepstep.asking.refused import Mistakes
from keepstep.asking.specification import specify
from keepstep.console.asked import Checked, JobAsked, policy_of
from keepstep.contracts.kubernetes import JobKind
from keepstep.contracts.policy import Policy
from keepstep.contracts.topology import JobSpec


class Ground(Protocol):
    """Where jobs of a pool are made."""

    @property
    def kinds(self) -> tuple[JobKind, ...]:
        """The kinds of objects that a job may be made as; none where it is no object."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Where objects are made."""

    @property
    def closed(self) -> str:
        """Why no job can be created here; empty where it can."""

    def check(self, asked: JobAsked) -> Checked:
        """Return what would be created; raises Refused with field and remedy."""


@dataclass(frozen=True)
class OwnNodes:
    """Nodes whose tasks are keepstep's own."""

    kinds: tuple[JobKind, ...] = ()
    namespaces: tuple[str, ...] = ()
    closed: str = ""

    def check(self, asked: JobAsked) -> Checked:
        """Return what would be created; raises Refused with field and remedy."""
        mistakes = Mistakes()
        for name in ("kubernetes", "framework"):
            if getattr(asked, name) is not None:
                mistakes.told.append(f"{name}: only for a job on a cluster; leave it out")
        mistakes.of(lambda: check_labels(asked.labels), None)
        policy = mistakes.of(lambda: policy_of(asked), Policy())
        spec = mistakes.of(lambda: _specified(asked, policy), None)
        mistakes.refuse()
        assert spec is not None  # noqa: S101 - refused above without one
        return Checked(spec=spec.model_copy(update={"labels": asked.labels}), warnings=cautions(spec.policy))


def _specified(asked: JobAsked, policy: Policy) -> JobSpec:
    return specify(
        asked.argv,
        name=asked.name,
        nodes=asked.nodes,
        nproc=asked.nproc or 1,
        policy=policy,
        checkpoint_dir=None if asked.checkpoint_dir is None else Path(asked.checkpoint_dir),
        resume_arg=asked.resume_arg,
        env=tuple(f"{name}={value}" for name, value in asked.env.items()),
        cwd=None if asked.cwd is None else Path(asked.cwd),
    )
