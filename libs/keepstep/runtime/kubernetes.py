"""What a service that reaches a Kubernetes cluster is given: an audited client, and a log of what its caches meet.

Loaded only where the settings name one.
"""

from keepstep.adapters.kube_cache import Hooks
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_named import client_of
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import Permanent
from keepstep.runtime.audit import audited
from keepstep.runtime.log import logger


def connected(setting: str, service: Service) -> KubeClient:
    """Return a client whose writes the service's log tells. Raises Permanent if the cluster cannot be found."""
    client = client_of(setting, audit=audited(logger(service)))
    if client is None:
        raise Permanent(f"KEEPSTEP_CLUSTER {setting!r} names no Kubernetes: write kubernetes[:<kubeconfig>]")
    return client


def watched(service: Service) -> Hooks:
    """Return what a cache tells the service's log: a list that came in, a watch that broke; never a single change."""
    log = logger(service)

    def listed(resource: str, count: int) -> None:
        log.info("cluster listed", resource=resource, count=count)

    def broke(resource: str, why: str) -> None:
        log.warning("cluster watch broke", resource=resource, because=why)

    return Hooks(listed=listed, broke=broke)
