"""A cluster's nodes as they are at one moment, for people: read once, page by page, and nothing kept."""

from collections import defaultdict
from collections.abc import AsyncIterator

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_cordon import mark_of
from keepstep.adapters.kube_devices import withheld_of
from keepstep.adapters.kube_json import JsonObject, rows, text
from keepstep.adapters.kube_marks import JOB_LABEL, TASK
from keepstep.adapters.kube_node import node_of
from keepstep.adapters.kube_resources import NODES, PODS, Resource
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.ports.cluster import NodeStatus

PAGE = 500
"""As kubectl asks for: a server holds no more than that in memory for us."""
_OVER = ("Succeeded", "Failed")


async def node_names(client: KubeClient) -> tuple[NodeName, ...]:
    """Return the names of all nodes. Raises the errors of ``kube_errors``."""
    return tuple([NodeName(text(one, "metadata", "name")) async for one in _listed(client, NODES)])


async def node_statuses(client: KubeClient) -> tuple[NodeStatus, ...]:
    """Return all nodes, with the tasks that run there now. Raises the errors of ``kube_errors``."""
    tasks: dict[str, list[TaskUid]] = defaultdict(list)
    async for pod in _listed(client, PODS, {"labelSelector": JOB_LABEL}):
        uid = text(pod, "metadata", "annotations", TASK)
        if uid and text(pod, "status", "phase") not in _OVER:
            tasks[text(pod, "spec", "nodeName")].append(TaskUid(uid))
    return tuple([_status(one, tasks) async for one in _listed(client, NODES)])


def _status(source: JsonObject, tasks: dict[str, list[TaskUid]]) -> NodeStatus:
    node = node_of(source)
    return NodeStatus(
        name=node.name,
        ready=node.ready,
        group=node.group,
        mark=mark_of(node),
        tasks=tuple(sorted(tasks.get(node.name, ()))),
        withholds=node.withholds,
        withheld=withheld_of(node, None),
    )


async def _listed(
    client: KubeClient, resource: Resource, params: dict[str, str] | None = None
) -> AsyncIterator[JsonObject]:
    more = ""
    while True:
        asked = {"limit": str(PAGE), **(params or {}), **({"continue": more} if more else {})}
        page = await client.page(resource, asked)
        for one in rows(page, "items"):
            yield one
        more = text(page, "metadata", "continue")
        if not more:
            return
