"""The nodes of a Kubernetes cluster in the isolator's reach; loaded only where the settings name one."""

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_devices import SYSTEM, separated_of
from keepstep.adapters.kube_evict import KubeEvictions
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_node import Node, node_of
from keepstep.adapters.kube_resources import CONFIG_MAPS, NODES
from keepstep.contracts.taxonomy import Service
from keepstep.isolator.reach import Reach
from keepstep.isolator.settings import Settings
from keepstep.runtime.kubernetes import connected, watched


def named(cluster: str, own: Settings) -> Reach:
    """Return the reach over the cluster that the setting names. Raises Permanent if it cannot be found."""
    return kubernetes(connected(cluster, Service.ISOLATOR), own)


def kubernetes(client: KubeClient, own: Settings) -> Reach:
    """Return the reach over an API server."""

    def project(source: JsonObject) -> Node:
        return node_of(source, group_label=own.group_label)

    hooks = watched(Service.ISOLATOR)
    maps = Cache(client, CONFIG_MAPS, separated_of, namespace=SYSTEM, hooks=hooks) if own.mindcluster else None
    fleet = KubeFleet(client, Cache(client, NODES, project, hooks=hooks), separated=maps, now=SystemClock().now)
    return Reach(fleet, fleet, KubeEvictions(client), fleet.follow)
