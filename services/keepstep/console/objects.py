"""Jobs that are objects of a Kubernetes, checked as they will be made; loaded only where the settings name one."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from keepstep.asking.cautions import cautions
from keepstep.asking.mistakes import explained
from keepstep.asking.namespaces import NOWHERE, elsewhere
from keepstep.asking.refused import Mistakes, Refused
from keepstep.console.asked import Checked, JobAsked, policy_of
from keepstep.contracts.kubernetes import JobKind, KubernetesJob
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Framework
from keepstep.contracts.topology import Command, JobSpec
from keepstep.injection.creating import name_of
from keepstep.injection.documents import told
from keepstep.injection.ordering import BY_ORDER, check, ordered
from keepstep.injection.ours import Ours

BLANK = KubernetesJob(image="unnamed", command=("true",))
"""In place of what is missing, so that all else is checked too."""


@dataclass(frozen=True)
class OnObjects:
    """A Kubernetes, on which the scheduler-adapter makes what is ordered in these namespaces."""

    namespaces: tuple[str, ...] = ()
    kinds: tuple[JobKind, ...] = BY_ORDER

    @property
    def closed(self) -> str:
        """Why no job can be created here; empty where it can."""
        return "" if self.namespaces else NOWHERE

    def check(self, asked: JobAsked) -> Checked:
        """Return what would be created, as it is made then; raises Refused with every mistake, by field and remedy."""
        mistakes = Mistakes()
        mistakes.told += self._amiss(asked)
        work = mistakes.of(lambda: _work(asked, asked.nproc), _work(asked, None))
        kind = work.kind or JobKind.JOB
        mistakes.of(lambda: check(work, kind, env=asked.env, labels=asked.labels), None)
        policy = mistakes.of(lambda: policy_of(asked), Policy())
        plain = mistakes.of(lambda: _spec(asked, work, policy), None)
        job = None if plain is None else mistakes.of(lambda: ordered(plain, work, kind, Ours()), None)
        mistakes.refuse()
        assert plain is not None  # noqa: S101 - refused above without one
        assert job is not None  # noqa: S101 - the same
        spec = plain.model_copy(update={"entrypoint": job.spec.entrypoint, "nproc": job.spec.nproc})
        notes = job.notes if work.kind is None else tuple(told(job))
        return Checked(spec=spec, kubernetes=work, warnings=cautions(spec.policy), notes=notes)

    def _amiss(self, asked: JobAsked) -> Iterator[str]:
        """Yield what no field by itself has wrong: what an object needs, and what it has no place for."""
        if asked.kubernetes is None:
            yield "--image: name the image that the pods train in"
        elif wrong := elsewhere(asked.kubernetes.namespace, self.namespaces):
            yield wrong
        if asked.cwd is not None:
            yield "cwd: pods begin in the folder of their image; leave it out"
        if not asked.argv:
            yield "argv: name what to run: a command of the image"


def _work(asked: JobAsked, nproc: int | None) -> KubernetesJob:
    said = (asked.kubernetes or BLANK).model_dump()
    try:
        return KubernetesJob.model_validate(said | {"command": asked.argv or BLANK.command, "nproc": nproc})
    except ValidationError as error:
        raise Refused(*explained(error, KubernetesJob)) from error


def _spec(asked: JobAsked, work: KubernetesJob, policy: Policy) -> JobSpec:
    try:
        return JobSpec(
            name=name_of(work.command) if asked.name is None else asked.name,
            entrypoint=Command(argv=work.command),
            nodes=asked.nodes,
            nproc=asked.nproc or 1,
            env=asked.env,
            labels=asked.labels,
            checkpoint_dir=asked.checkpoint_dir,
            resume_arg=asked.resume_arg,
            framework=asked.framework or Framework.PYTORCH,
            policy=policy,
        )
    except ValidationError as error:
        raise Refused(*explained(error, JobSpec)) from error
