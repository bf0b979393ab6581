"""What people ask of ``keepstep job create`` for a cluster, checked, and carried out or printed."""

from dataclasses import dataclass
from pathlib import Path

from keepstep.adapters.kube_about import about
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject
from keepstep.asking import policy_file, tolerance_args
from keepstep.asking.specification import environment
from keepstep.cli import creation, injecting
from keepstep.cli.cautioning import caution
from keepstep.cli.data_sources import Sources, data_sources
from keepstep.cli.errors import Refused
from keepstep.cli.manifests import Form, text_of
from keepstep.cli.options import note
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Framework
from keepstep.injection import creating, documents
from keepstep.injection.data_sources import volumes
from keepstep.injection.making import Wanted
from keepstep.injection.ours import Ours
from keepstep.injection.products import Product
from keepstep.injection.wishes import Wishes


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The job itself, as the options describe it: what its pods run, on what, and where they stand."""

    name: str | None
    namespace: str
    image: str | None
    argv: tuple[str, ...]
    script_file: Path | None
    nodes: int
    nproc: int | None
    queue: str
    priority: str
    labels: tuple[str, ...]
    gpus: tuple[str, ...]
    env: tuple[str, ...]
    sources: Sources
    restart: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """What is asked of keepstep for it: whether, by which policy in which form, and what trains where."""

    wanted: bool
    args: str | None
    config: str | None
    policy: Path | None
    checkpoint_dir: Path | None
    resume_arg: str | None
    framework: Framework | None
    product: Product | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A job, what is asked of keepstep for it, and what of keepstep enters its pods; ``kind``: None for any."""

    work: Work
    tolerance: Tolerance
    ours: Ours
    kind: JobKind | None = None


async def on_cluster(asked: Asked, cluster: str, *, dry_run: bool) -> str:
    """Return what is to be printed: the uid of the job that was created, or with ``dry_run`` the manifests.

    Raises Refused for options that are wrong or contradict each other, Failed where the cluster refuses.
    """
    wishes = wishes_of(asked.tolerance, asked.work)
    if dry_run and not cluster.partition(":")[2]:
        offline = _documents(asked.work, asked.kind or JobKind.JOB, wishes, asked.ours, ())
        return text_of(offline, Form.YAML)
    async with injecting.reached(cluster) as client:
        there = await about(client)
        kind = creating.kind_for(asked.kind, there.kinds)
        ours = await injecting.fitted(client, asked.ours)
        job = made(asked.work, kind)[-1]
        runtimes = await injecting.with_runtimes(client, [job])
        all_ = _documents(asked.work, kind, wishes, ours, runtimes)
        if dry_run:
            return text_of(all_, Form.YAML)
        ref = await creation.create(client, all_, namespace=asked.work.namespace)
    note(f"{ref} is created")
    return f"{ref.uid}\n"


def wishes_of(asked: Tolerance, work: Work) -> Wishes | None:
    """Return what is wished of keepstep, None where fault tolerance is not asked for; raises Refused."""
    tolerant = tolerance_args.enabled(flag=asked.wanted, env=work.env)
    forms = {
        "--policy": asked.policy,
        "--fault-tolerance-args": asked.args,
        "--fault-tolerance-config": asked.config,
    }
    given = tolerance_args.in_one_form(forms)
    kinds = {"--framework": asked.framework, "--product": asked.product}
    given += [option for option, value in kinds.items() if value is not None]
    if given and not tolerant:
        raise Refused(f"{given[0]} without --enable-fault-tolerance: add it, or leave {given[0]} out")
    if not tolerant:
        return None
    environment(work.env)
    folder = None if asked.checkpoint_dir is None else str(asked.checkpoint_dir)
    return Wishes(
        policy=_policy(asked),
        checkpoint_dir=folder,
        resume_arg=asked.resume_arg,
        nproc=work.nproc,
        framework=asked.framework or Framework.PYTORCH,
        product=asked.product,
    )


def _policy(asked: Tolerance) -> Policy:
    if asked.args is not None:
        return tolerance_args.of_flags(asked.args)
    if asked.config is not None:
        return tolerance_args.of_config(asked.config)
    return policy_file.load(asked.policy)


def made(work: Work, kind: JobKind) -> tuple[JsonObject, ...]:
    """Return the manifests of a plain job, the job last; raises Refused."""
    if work.image is None:
        raise Refused("--image: name the image that the pods train in")
    if work.nodes < 1:
        raise Refused(f"--nodes {work.nodes}: at least 1")
    limits = creation.amounts(work.gpus)
    nproc = work.nproc or sum(map(int, limits.values())) or 1
    name = work.name or creating.name_of(work.argv if work.script_file is None else (work.script_file.name,))
    script = creation.script(work.script_file, work.argv, name=name, namespace=work.namespace, nproc=nproc)
    wanted = Wanted(
        name=name,
        namespace=work.namespace,
        image=work.image,
        command=script.command,
        nodes=work.nodes,
        env=creation.pairs("--env", work.env),
        labels=creation.labels(work.labels),
        limits=limits,
        queue=work.queue,
        priority=work.priority,
        volumes=(*volumes(data_sources(work.sources)), *script.volumes),
        restart=work.restart,
    )
    job = creating.made(wanted, kind)
    return (job,) if script.carrier is None else (script.carrier, job)


def _documents(
    work: Work, kind: JobKind, wishes: Wishes | None, ours: Ours, runtimes: tuple[JsonObject, ...]
) -> tuple[JsonObject, ...]:
    plain = made(work, kind)
    if wishes is None:
        return plain
    caution(wishes.policy or Policy(), here=False)
    done = documents.injected(plain, ours, wishes, beside=runtimes)
    for line in documents.tales(done):
        note(line)
    return documents.flat(done)
