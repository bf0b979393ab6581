"""A job that a person orders through keepstep: what becomes of the order, and what only his own right may make.

``keepstep job create`` goes to the cluster by the right of whoever asks; an order is carried out by keepstep's own. So
it makes no object but the job, and mounts nothing of a node: neither is a right that keepstep has, or should lend.
"""

from collections.abc import Callable, Mapping

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.asking.labels import check_labels
from keepstep.asking.namespaces import check_namespace
from keepstep.asking.refused import Mistakes, Refused
from keepstep.asking.specification import environment
from keepstep.contracts.kubernetes import KubernetesJob, SourceType
from keepstep.contracts.topology import JobSpec
from keepstep.injection.creating import PREFERRED, made
from keepstep.injection.data_sources import volumes
from keepstep.injection.documents import injected
from keepstep.injection.inject import Injected
from keepstep.injection.making import Wanted
from keepstep.injection.ours import Ours
from keepstep.injection.products import Product
from keepstep.injection.shapes import SHAPES
from keepstep.injection.wishes import Wishes

BY_ORDER = tuple(kind for kind in PREFERRED if not SHAPES[kind].by_runtime)
"""The kinds that are one object alone."""


def ordered(spec: JobSpec, work: KubernetesJob, kind: JobKind, ours: Ours) -> Injected:
    """Return the fault-tolerant job of an order; raises Refused with every objection, each with field and remedy."""
    check(work, kind, env=spec.env, labels=spec.labels)
    job = made(_wanted(spec, work), kind)
    (done,) = injected((job,), ours, _wishes(spec, work))
    if not isinstance(done, Injected):
        raise Refused(f"--kind {kind}: is none that keepstep restarts")
    return done


def check(work: KubernetesJob, kind: JobKind, *, env: Mapping[str, str], labels: Mapping[str, str]) -> None:
    """Refuse, all at once, what takes another right than keepstep's, what no server takes, and what is not known."""
    mistakes = Mistakes()
    checks: tuple[Callable[[], object], ...] = (
        lambda: _check_kind(kind),
        lambda: _check_sources(work),
        lambda: check_namespace(work.namespace),
        lambda: check_labels(labels),
        lambda: environment(_pairs(env)),
        lambda: volumes(work.sources),
        lambda: _product(work.product),
    )
    for one in checks:
        mistakes.of(one, None)
    mistakes.refuse()


def _check_kind(kind: JobKind) -> None:
    if kind not in BY_ORDER:
        known = ", ".join(BY_ORDER)
        raise Refused(
            f"--kind {kind}: its pods stand in a runtime, which keepstep has no right to make; ask for one of {known},"
            f" or let keepstep job create --kind {kind} make both by your own right"
        )


def _check_sources(work: KubernetesJob) -> None:
    if any(source.type is SourceType.HOSTPATH for source in work.sources):
        raise Refused(
            "--ds-type hostpath: a folder of a node is not mounted by keepstep's right; use a claim (pvc), or"
            " keepstep job create, which goes by your own"
        )


def _pairs(env: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in env.items()]


def _wanted(spec: JobSpec, work: KubernetesJob) -> Wanted:
    return Wanted(
        name=spec.name,
        namespace=work.namespace,
        image=work.image,
        command=work.command,
        nodes=spec.nodes,
        env=environment(_pairs(spec.env)),
        labels=spec.labels,
        limits={name: str(count) for name, count in work.resources.items()},
        queue=work.queue,
        priority=work.priority,
        volumes=volumes(work.sources),
        restart=work.restart,
    )


def _wishes(spec: JobSpec, work: KubernetesJob) -> Wishes:
    return Wishes(
        policy=spec.policy,
        checkpoint_dir=spec.checkpoint_dir,
        resume_arg=spec.resume_arg,
        nproc=work.nproc,
        framework=spec.framework,
        product=_product(work.product),
        rank_table=spec.rank_table,
    )


def _product(name: str) -> Product | None:
    if name and name not in tuple(Product):
        raise Refused(f"--product {name}: is none of {', '.join(Product)}")
    return Product(name) if name else None
