"""Which cluster a command is about, and how its API server and its bus are reached from a terminal."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from keepstep.adapters.kube_named import client_of, names_kubernetes
from keepstep.cli.errors import Failed
from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import NodeStatus

if TYPE_CHECKING:
    from keepstep.adapters.kube_client import KubeClient

CLUSTER = "KEEPSTEP_CLUSTER"
BUS = "KEEPSTEP_NATS_URL"
HOW_TO_REACH = (
    f"the bus of a cluster is named by {BUS}: kubectl -n keepstep port-forward svc/nats 4222, and take key url of its"
    " Secret bus-people with localhost as the host (k8s/README.md has the line)"
)

Cluster = Annotated[
    str | None, typer.Option("--cluster", help="kubernetes, or kubernetes:KUBECONFIG; default $KEEPSTEP_CLUSTER")
]


def named(cluster: str | None) -> str | None:
    """Return the Kubernetes that a command is about, None for the nodes of this machine.

    Raises Failed for an option that names neither.
    """
    where = cluster if cluster is not None else os.environ.get(CLUSTER, "")
    if names_kubernetes(where):
        return where
    if cluster is not None and not cluster.startswith("local"):
        raise Failed(f"--cluster {cluster}: say kubernetes, or kubernetes:<kubeconfig>")
    return None


def needs_bus(cluster: str | None) -> str | None:
    """Return the same; raises Failed where orders to that cluster cannot be given, with the remedy."""
    where = named(cluster)
    if where is not None and not os.environ.get(BUS):
        raise Failed(HOW_TO_REACH)
    return where


async def cluster_nodes(where: str) -> tuple[NodeStatus, ...]:
    """Return the nodes of a cluster with who keeps them from jobs. Raises KeepstepError."""
    from keepstep.adapters.kube_nodes import node_statuses  # noqa: PLC0415 - an extra of its own

    async with _client(where) as client:
        return await node_statuses(client)


async def cluster_node_names(where: str) -> Sequence[NodeName]:
    """Return the names alone, which takes no right on pods. Raises KeepstepError."""
    from keepstep.adapters.kube_nodes import node_names  # noqa: PLC0415 - as above

    async with _client(where) as client:
        return await node_names(client)


@asynccontextmanager
async def _client(where: str) -> AsyncIterator["KubeClient"]:
    client = client_of(where, audit=lambda _: None)
    if client is None:
        raise Failed(f"{where} names no Kubernetes")
    try:
        yield client
    finally:
        await client.close()
