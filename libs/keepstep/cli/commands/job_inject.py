"""``keepstep job inject``: a user's manifest in, a fault-tolerant one out."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from keepstep.adapters.kube_json import JsonObject
from keepstep.asking import policy_file
from keepstep.cli.manifests import Form, load, text_of
from keepstep.cli.options import note, write
from keepstep.contracts.taxonomy import Framework
from keepstep.injection.ours import IMAGE, NATS_SECRET, Ours
from keepstep.injection.products import Product
from keepstep.injection.wishes import Wishes

Image = Annotated[str, typer.Option(help="image of keepstep, for the agent", envvar="KEEPSTEP_IMAGE")]
AgentBus = Annotated[
    str,
    typer.Option(
        "--nats-url",
        help="where agents find the bus, without credentials, instead of --nats-secret",
        envvar="KEEPSTEP_AGENT_NATS_URL",
    ),
]
AgentSecret = Annotated[
    str,
    typer.Option(
        "--nats-secret",
        help="Secret beside the job whose key url is the bus's address",
        envvar="KEEPSTEP_AGENT_NATS_SECRET",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="kubernetes, or kubernetes:KUBECONFIG: asked for its version and the runtimes of TrainJobs",
    ),
]


def inject(
    file: Annotated[Path, typer.Option("--file", "-f", help="manifests, YAML or JSON; - is standard input")],
    *,
    output: Annotated[Form, typer.Option("--output", "-o", help="how the manifests are printed")] = Form.YAML,
    policy: Annotated[Path | None, typer.Option(help="TOML or JSON file of limits, windows and budgets")] = None,
    checkpoint_dir: Annotated[str | None, typer.Option(help="folder in the pod where checkpoints are written")] = None,
    resume_arg: Annotated[str | None, typer.Option(help="argument added at a restart, as in --resume={path}")] = None,
    nproc: Annotated[int | None, typer.Option(min=1, help="ranks per pod, where the command leaves it open")] = None,
    container: Annotated[str | None, typer.Option(help="the container that trains, where there are several")] = None,
    framework: Annotated[Framework, typer.Option(help="what trains, unless the job is annotated")] = Framework.PYTORCH,
    product: Annotated[Product | None, typer.Option(help="where it trains: which levels it has is known")] = None,
    role: Annotated[list[str] | None, typer.Option(help="a role that trains; default: all; may be repeated")] = None,
    pool: Annotated[str, typer.Option(help="keepstep's pool", envvar="KEEPSTEP_POOL")] = "default",
    image: Image = IMAGE,
    nats_url: AgentBus = "",
    nats_secret: AgentSecret = NATS_SECRET,
    cluster: Cluster = None,
) -> None:
    """Print the manifests with every job in them made fault-tolerant; on stderr what was done, and the levels."""
    from keepstep.cli import injecting  # noqa: PLC0415 - 0.2 s that the other commands of job do not need
    from keepstep.injection.documents import flat, injected, tales  # noqa: PLC0415 - the same

    documents = load(file)
    ours = Ours(image=image, nats_url=SecretStr(nats_url), nats_secret=nats_secret, pool=pool)
    wishes = Wishes(
        policy=None if policy is None else policy_file.load(policy),
        checkpoint_dir=checkpoint_dir,
        resume_arg=resume_arg,
        nproc=nproc,
        container=container,
        framework=framework,
        product=product,
        roles=frozenset(role or ()),
    )

    async def seen() -> tuple[Ours, tuple[JsonObject, ...]]:
        if cluster is None:
            return ours, ()
        async with injecting.reached(cluster) as client:
            return await injecting.fitted(client, ours), await injecting.with_runtimes(client, documents)

    fitted, runtimes = asyncio.run(seen())
    done = injected(documents, fitted, wishes, beside=runtimes)
    write(text_of(flat(done), output), end="")
    for line in tales(done):
        note(line)
