"""The nodes as the cluster has them: those of this machine, or of a Kubernetes."""

from collections.abc import Mapping

from keepstep.adapters.kube_named import names_kubernetes
from keepstep.adapters.local_cluster import cluster_of
from keepstep.console.live import Fleet
from keepstep.contracts.ids import NodeName
from keepstep.ports.cluster import NodeStatus


def fleet_of(setting: str) -> Fleet | None:
    """Return what reads the nodes of the cluster that the setting names; None for none. Raises Permanent."""
    if not setting:
        return None
    if names_kubernetes(setting):
        from keepstep.console.kubernetes import nodes_of  # noqa: PLC0415 - an extra of its own

        return nodes_of(setting)
    local = cluster_of(setting)

    async def look() -> Mapping[NodeName, NodeStatus]:
        return {node.name: node for node in await local.nodes()}

    return look
