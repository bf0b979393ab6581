"""A cluster's nodes as they are at one moment, for people: read once, page by page, and nothing kept."""

from collections import defaultdict

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_cordon import mark_of
from keepstep.adapters.kube_devices import withheld_of
from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_listing import listed
from keepstep.adapters.kube_marks import JOB_LABEL, TASK
from keepstep.adapters.kube_node import node_of
from keepstep.adapters.kube_resources import NODES, PODS
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.ports.cluster import NodeStatus

_OVER = ("Succeeded", "Failed")


async def node_names(client: KubeClient) -> tuple[NodeName, ...]:
    """Return the names of all nodes. Raises the errors of ``kube_errors``."""
    return tuple([NodeName(text(one, "metadata", "name")) async for one in listed(client, NODES)])


async def nodes_alone(client: KubeClient) -> tuple[NodeStatus, ...]:
    """Return all nodes without their tasks, which takes no right on pods. Raises the errors of ``kube_errors``."""
    return tuple([_status(one, {}) async for one in listed(client, NODES)])


async def node_statuses(client: KubeClient) -> tuple[NodeStatus, ...]:
    """Return all nodes, with the tasks that run there now. Raises the errors of ``kube_errors``."""
    tasks: dict[str, list[TaskUid]] = defaultdict(list)
    async for pod in listed(client, PODS, {"labelSelector": JOB_LABEL}):
        uid = text(pod, "metadata", "annotations", TASK)
        if uid and text(pod, "status", "phase") not in _OVER:
            tasks[text(pod, "spec", "nodeName")].append(TaskUid(uid))
    return tuple([_status(one, tasks) async for one in listed(client, NODES)])


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
