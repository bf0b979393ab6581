"""Jobs that are objects of a Kubernetes, checked as they will be made; loaded only where the settings name one."""

from dataclasses import dataclass

from pydantic import ValidationError

from keepstep.asking.cautions import too_often
from keepstep.asking.mistakes import explain
from keepstep.asking.namespaces import NOWHERE, elsewhere
from keepstep.asking.refused import Refused
from keepstep.console.asked import Checked, JobAsked, policy_of
from keepstep.contracts.kubernetes import JobKind, KubernetesJob
from keepstep.contracts.taxonomy import Framework
from keepstep.contracts.topology import Command, JobSpec
from keepstep.injection.creating import name_of
from keepstep.injection.documents import told
from keepstep.injection.ordering import BY_ORDER, ordered
from keepstep.injection.ours import Ours


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
        """Return what would be created, as it is made then; raises Refused with field and remedy."""
        work = self._work(asked)
        plain = _spec(asked, work)
        job = ordered(plain, work, work.kind or JobKind.JOB, Ours())
        spec = plain.model_copy(update={"entrypoint": job.spec.entrypoint, "nproc": job.spec.nproc})
        notes = job.notes if work.kind is None else tuple(told(job))
        return Checked(spec=spec, kubernetes=work, warnings=too_often(spec.policy), notes=notes)

    def _work(self, asked: JobAsked) -> KubernetesJob:
        if asked.kubernetes is None:
            raise Refused("--image: name the image that the pods train in")
        if asked.cwd is not None:
            raise Refused("cwd: pods begin in the folder of their image; leave it out")
        if not asked.argv:
            raise Refused("argv: name what to run: a command of the image")
        if wrong := elsewhere(asked.kubernetes.namespace, self.namespaces):
            raise Refused(wrong)
        said = asked.kubernetes.model_dump()
        try:
            return KubernetesJob.model_validate(said | {"command": asked.argv, "nproc": asked.nproc})
        except ValidationError as error:
            raise Refused(explain(error, KubernetesJob)) from error


def _spec(asked: JobAsked, work: KubernetesJob) -> JobSpec:
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
            policy=policy_of(asked),
        )
    except ValidationError as error:
        raise Refused(explain(error, JobSpec)) from error
