"""Objects that belong together, created in their order: all of them, or none."""

from collections.abc import Sequence

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_objects import ObjectRef, reference
from keepstep.ports.errors import Permanent


async def create_all(client: KubeClient, documents: Sequence[JsonObject], *, namespace: str, why: str) -> ObjectRef:
    """Create the documents, the last one owner of the others; what was made before a refusal is taken away.

    Returns the last. Raises Permanent with the server's words, Transient.
    """
    made: list[ObjectRef] = []
    try:
        for document in documents:
            created = await client.create(namespace, document, why=why)
            made.append(reference(created))
    except Permanent as refused:
        for ref in reversed(made):
            await client.delete(ref, why="the job that it was made for was refused")
        one = documents[len(made)]
        raise Permanent(f"{text(one, 'kind')} {text(one, 'metadata', 'name')} was not created: {refused}") from refused
    job = made[-1]
    for ref in made[:-1]:
        await _own(client, ref, job)
    return job


async def _own(client: KubeClient, ref: ObjectRef, job: ObjectRef) -> None:
    """Let the cluster take the object away with its job; one that cannot be owned stays, and is named after the job."""
    owner = {"apiVersion": job.api, "kind": job.kind, "name": job.name, "uid": job.uid}
    try:
        await client.edit(ref, lambda _: {"metadata": {"ownerReferences": [owner]}}, why="it goes with its job")
    except Permanent:
        return
