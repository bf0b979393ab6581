"""The nodes of a Kubernetes cluster in the isolator's reach; loaded only where the settings name one."""

from collections.abc import Callable
from functools import partial

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_cache import Cache, Hooks, Rhythm
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


def named(cluster: str, own: Settings) -> Callable[[], Reach]:
    """Return what opens the cluster that the setting names. Raises Permanent if it cannot be found."""
    return partial(kubernetes, connected(cluster, Service.ISOLATOR), own, hooks=watched(Service.ISOLATOR))


def kubernetes(client: KubeClient, own: Settings, *, hooks: Hooks | None = None, rhythm: Rhythm | None = None) -> Reach:
    """Return a reach over an API server that has seen nothing of it yet."""

    def project(source: JsonObject) -> Node:
        return node_of(source, group_label=own.group_label)

    nodes, maps = Cache(client, NODES, project, hooks=hooks, rhythm=rhythm), None
    if own.mindcluster:
        maps = Cache(client, CONFIG_MAPS, separated_of, namespace=SYSTEM, hooks=hooks, rhythm=rhythm)
    fleet = KubeFleet(client, nodes, separated=maps, now=SystemClock().now)
    return Reach(fleet, fleet, KubeEvictions(client), fleet.follow)
