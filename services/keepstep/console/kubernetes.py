"""The nodes of a Kubernetes cluster, read page by page; loaded only where the settings name one."""

from collections.abc import Mapping

from keepstep.adapters.kube_named import client_of
from keepstep.adapters.kube_nodes import nodes_alone
from keepstep.console.live import Fleet
from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import NodeStatus
from keepstep.ports.errors import Permanent


def nodes_of(setting: str) -> Fleet:
    """Return what reads the nodes; it takes the right to list nodes and no other. Raises Permanent."""
    client = client_of(setting, audit=lambda _: None)
    if client is None:
        raise Permanent(f"KEEPSTEP_CLUSTER {setting!r} names no Kubernetes: write kubernetes[:<kubeconfig>]")

    async def look() -> Mapping[NodeName, NodeStatus]:
        return {node.name: node for node in await nodes_alone(client)}

    return look
