"""What a server has of a collection at one moment, read page by page by whoever looks once and keeps nothing."""

from collections.abc import AsyncIterator, Mapping

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_json import JsonObject, rows, text
from keepstep.adapters.kube_resources import Resource

PAGE = 500
"""As kubectl asks for: a server holds no more than that in memory for us."""


async def listed(
    client: KubeClient,
    resource: Resource,
    selectors: Mapping[str, str] | None = None,
    *,
    namespace: str = "",
    only_metadata: bool = False,
) -> AsyncIterator[JsonObject]:
    """Yield every object that the selectors choose, ``labelSelector`` or ``fieldSelector``; without any, all.

    ``only_metadata`` as of ``KubeClient.page``. Raises the errors of ``kube_errors``, also half-way.
    """
    asked = {**(selectors or {}), "limit": str(PAGE)}
    while True:
        page = await client.page(resource, asked, namespace=namespace, only_metadata=only_metadata)
        for one in rows(page, "items"):
            yield one
        more = text(page, "metadata", "continue")
        if not more:
            return
        asked["continue"] = more
