"""``keepstep job create``: a job on the nodes of a running stack, or on a Kubernetes cluster."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.asking import policy_file
from keepstep.asking.specification import specify
from keepstep.cli.cautioning import caution
from keepstep.cli.commands.job_inject import AgentBus, AgentSecret
from keepstep.cli.errors import Refused
from keepstep.cli.options import Data, write
from keepstep.cli.places import data_folder
from keepstep.cli.say import give, person, place
from keepstep.contracts.taxonomy import Framework
from keepstep.contracts.topology import JobSpec
from keepstep.core.ordering import creation
from keepstep.injection.ours import IMAGE, NATS_SECRET, Ours
from keepstep.injection.products import Product

CLUSTER = "KEEPSTEP_CLUSTER"
HERE = frozenset(
    {"script", "name", "nodes", "nproc", "policy", "checkpoint_dir", "resume_arg", "env", "label", "data", "cluster"}
)
"""What a job on the stack of this machine heeds."""
Many = list[str] | None


def create(
    context: typer.Context,
    script: Annotated[Many, typer.Argument(help="a .py file, -m module, or any command, after --")] = None,
    *,
    name: Annotated[str | None, typer.Option(help="the job's name; default: the script's")] = None,
    nodes: Annotated[int, typer.Option(help="nodes that the job's tasks take")] = 1,
    nproc: Annotated[int | None, typer.Option(help="ranks per node; default 1, on a cluster one per --gpu")] = None,
    policy: Annotated[Path | None, typer.Option(help="TOML or JSON file of limits, windows and budgets")] = None,
    checkpoint_dir: Annotated[Path | None, typer.Option(help="where the script writes its checkpoints")] = None,
    resume_arg: Annotated[str | None, typer.Option(help="argument added at a restart, as in --resume={path}")] = None,
    env: Annotated[Many, typer.Option(help="NAME=VALUE for the ranks; may be repeated")] = None,
    data: Data = None,
    cluster: Annotated[
        str | None, typer.Option(help="kubernetes, or kubernetes:KUBECONFIG; default $KEEPSTEP_CLUSTER")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="print the manifests, create nothing")] = False,
    kind: Annotated[JobKind | None, typer.Option(help="which job object; default: by what the cluster has")] = None,
    namespace: Annotated[str, typer.Option(help="where the job is made")] = "default",
    image: Annotated[str | None, typer.Option(help="image that the pods train in")] = None,
    script_file: Annotated[Path | None, typer.Option(help="a local script that goes with the job")] = None,
    pool: Annotated[str, typer.Option("--pool", "-p", help="keepstep's pool")] = "default",
    queue: Annotated[str, typer.Option("--queue", "-q", help="queue of the cluster's scheduler")] = "",
    priority: Annotated[str, typer.Option(help="a PriorityClass of the cluster")] = "",
    label: Annotated[Many, typer.Option(help="NAME=VALUE on the job, and its pods; may be repeated")] = None,
    gpu: Annotated[Many, typer.Option(help="RESOURCE=N per pod, as in nvidia.com/gpu=8; may be repeated")] = None,
    ds_type: Annotated[Many, typer.Option(help="pvc, pfs, cfs, bos, hostpath or nfs; once per data source")] = None,
    ds_name: Annotated[Many, typer.Option(help="the claim, folder or SERVER:/PATH; once per data source")] = None,
    ds_mountpath: Annotated[Many, typer.Option(help="its folder in the pods; once per data source")] = None,
    enable_fault_tolerance: Annotated[
        bool, typer.Option("--enable-fault-tolerance", help="as does --env faulttolerance=true")
    ] = False,
    fault_tolerance_args: Annotated[str | None, typer.Option(help="flags in one text, as --enable-replace")] = None,
    fault_tolerance_config: Annotated[str | None, typer.Option(help="the same as a JSON object")] = None,
    framework: Annotated[
        Framework | None, typer.Option(help="what trains; it has its variables set and its levels known")
    ] = None,
    product: Annotated[Product | None, typer.Option(help="where it trains: which levels it has is known")] = None,
    restart_policy: Annotated[str, typer.Option(help="Never; of a pytorchjob also ExitCode")] = "Never",
    keepstep_image: Annotated[str, typer.Option(help="image of keepstep", envvar="KEEPSTEP_IMAGE")] = IMAGE,
    nats_url: AgentBus = "",
    nats_secret: AgentSecret = NATS_SECRET,
) -> None:
    """Create a job on the nodes of the running stack, or with --image on a Kubernetes cluster, and print its uid."""
    where = cluster or os.environ.get(CLUSTER, "")
    if image is None and not dry_run and not where.startswith("kubernetes"):
        _refuse(_given(context) - HERE, "only for a job on a cluster; name its --image, or leave them out")
        spec = specify(
            script or [],
            name=name,
            nodes=nodes,
            nproc=nproc or 1,
            policy=policy_file.load(policy),
            checkpoint_dir=checkpoint_dir,
            resume_arg=resume_arg,
            env=env or [],
        )
        if label:
            spec = spec.model_copy(update={"labels": _labels(label)})
        caution(spec.policy, here=True)
        write(asyncio.run(_create(spec, data_folder(data))))
        return
    _refuse(_given(context) & {"data"}, "only for a job on the stack of this machine; leave it out")
    from keepstep.cli.asking import (  # noqa: PLC0415 - 0.2 s that a job on this machine does not need
        Asked,
        Tolerance,
        Work,
        on_cluster,
    )
    from keepstep.cli.data_sources import Sources  # noqa: PLC0415 - the same

    work = Work(
        name=name, namespace=namespace, image=image, argv=tuple(script or ()), script_file=script_file, nodes=nodes,
        nproc=nproc, queue=queue, priority=priority, labels=tuple(label or ()), gpus=tuple(gpu or ()),
        env=tuple(env or ()), sources=Sources(tuple(ds_type or ()), tuple(ds_name or ()), tuple(ds_mountpath or ())),
        restart=restart_policy,
    )  # fmt: skip
    tolerance = Tolerance(
        wanted=enable_fault_tolerance, args=fault_tolerance_args, config=fault_tolerance_config, policy=policy,
        checkpoint_dir=checkpoint_dir, resume_arg=resume_arg, framework=framework, product=product,
    )  # fmt: skip
    ours = Ours(image=keepstep_image, nats_url=SecretStr(nats_url), nats_secret=nats_secret, pool=pool)
    asked = Asked(work, tolerance, ours, kind)
    write(asyncio.run(on_cluster(asked, where or "kubernetes", dry_run=dry_run)), end="")


def _labels(given: list[str]) -> dict[str, str]:
    from keepstep.cli.creation import labels  # noqa: PLC0415 - 0.2 s that a job without labels does not need

    return dict(labels(given))


def _given(context: typer.Context) -> set[str]:
    """Return the parameters that the command line names."""
    names = [parameter.name for parameter in context.command.params if parameter.name]
    sources = {name: context.get_parameter_source(name) for name in names}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _refuse(names: set[str], remedy: str) -> None:
    """Refuse options that mean nothing here, by name: who gave one expects it to be heeded."""
    if names:
        raise Refused(f"{', '.join('--' + name.replace('_', '-') for name in sorted(names))}: {remedy}")


async def _create(spec: JobSpec, data: Path) -> str:
    from keepstep.cli.connect import joined  # noqa: PLC0415 - 0.2 s that job logs does not need

    async with joined(data) as (client, where):
        said = creation(spec, where.pool, by=person(), now=datetime.now(UTC), given=place())
        await give(client, said)
        return said.key
