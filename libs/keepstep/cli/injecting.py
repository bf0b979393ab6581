"""What ``keepstep job inject`` and ``keepstep job create`` ask a cluster before manifests are made."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from keepstep.adapters.kube_about import about
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_named import client_of
from keepstep.cli.errors import Refused
from keepstep.injection.documents import among, runtime_ref
from keepstep.injection.ours import Ours, is_native


@asynccontextmanager
async def reached(cluster: str) -> AsyncIterator[KubeClient]:
    """Connect to a cluster, ``kubernetes`` or ``kubernetes:<kubeconfig>``, for the block. Raises Permanent."""
    client = client_of(cluster, audit=lambda _: None)
    if client is None:
        raise Refused(f"--cluster {cluster}: write kubernetes, or kubernetes:FILE with the path of a kubeconfig")
    try:
        yield client
    finally:
        await client.close()


async def fitted(client: KubeClient, ours: Ours) -> Ours:
    """Return ``ours`` as it fits the server: sidecars of their own where it knows them."""
    return replace(ours, native=is_native((await about(client)).version))


async def with_runtimes(client: KubeClient, documents: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """Return the runtimes that TrainJobs refer to and the documents lack, as the cluster has them."""
    found = []
    for document in documents:
        ref = runtime_ref(document)
        if ref is not None and among(documents, ref) is None:
            try:
                found.append(await client.get(ref))
            except Missing:
                continue
    return tuple(found)
