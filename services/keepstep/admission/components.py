"""Looks at the cluster's components: which version of each is there."""

from dataclasses import replace

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Missing, Refused
from keepstep.adapters.kube_json import JsonObject, rows, text
from keepstep.admission.settings import Settings
from keepstep.injection.requirements import Component, Pool

VERSION = "app.kubernetes.io/version"


def wanted(settings: Settings) -> Pool:
    """Return what the pool must have, with nothing found yet."""
    named = ((settings.operator, settings.operator_minimum), (settings.scheduler, settings.scheduler_minimum))
    components = tuple(Component(name, minimum, None) for name, minimum in named if name)
    return Pool(isolation=settings.isolation, components=components)


async def found(client: KubeClient, pool: Pool) -> Pool:
    """Return the pool as it is now. Raises Transient while the cluster is out of reach."""
    return replace(pool, components=tuple([await _looked_at(client, one) for one in pool.components]))


async def _looked_at(client: KubeClient, one: Component) -> Component:
    try:
        return replace(one, found=await _version(client, one.name), unseen="")
    except Refused as error:
        return replace(one, found=None, unseen=str(error))


async def _version(client: KubeClient, name: str) -> str | None:
    namespace, _, deployment = name.rpartition("/")
    try:
        path = f"/apis/apps/v1/namespaces/{namespace or 'kube-system'}/deployments/{deployment}"
        return version_of(await client.document(path))
    except Missing:
        return None


def version_of(deployment: JsonObject) -> str:
    """Return the version that a deployment's label says, else its image's tag."""
    said = text(deployment, "metadata", "labels", VERSION)
    if said:
        return said
    image = next((text(one, "image") for one in rows(deployment, "spec", "template", "spec", "containers")), "")
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]
