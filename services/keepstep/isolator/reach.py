"""What the isolator's hand reaches: the nodes of this machine, or those of a Kubernetes cluster."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_cache import Cache
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_devices import SYSTEM, separated_of
from keepstep.adapters.kube_evict import KubeEvictions
from keepstep.adapters.kube_fleet import KubeFleet
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_named import client_of
from keepstep.adapters.kube_node import Node, node_of
from keepstep.adapters.kube_resources import CONFIG_MAPS, NODES
from keepstep.adapters.local_cluster import cluster_of
from keepstep.contracts.taxonomy import Service
from keepstep.isolator.settings import Settings
from keepstep.ports.cluster import Devices, Evictions, Fleet
from keepstep.runtime import log
from keepstep.runtime.audit import audited


@dataclass(frozen=True)
class Reach:
    """The ports of one cluster; ``follow`` keeps what is read of it current, None where every look is a fresh one."""

    fleet: Fleet
    devices: Devices | None = None
    evictions: Evictions | None = None
    follow: Callable[[], Awaitable[None]] | None = None


def reach_of(cluster: str, own: Settings) -> Reach:
    """Return the reach that the settings name; raises Permanent if they name none."""
    client = client_of(cluster, audit=audited(log.logger(Service.ISOLATOR)))
    return Reach(cluster_of(cluster)) if client is None else kubernetes(client, own)


def kubernetes(client: KubeClient, own: Settings) -> Reach:
    """Return the reach over an API server."""

    def project(source: JsonObject) -> Node:
        return node_of(source, group_label=own.group_label)

    maps = Cache(client, CONFIG_MAPS, separated_of, namespace=SYSTEM) if own.mindcluster else None
    fleet = KubeFleet(client, Cache(client, NODES, project), separated=maps, now=SystemClock().now)
    return Reach(fleet, fleet, KubeEvictions(client), fleet.follow)
