"""The sink of a Kubernetes cluster's objects; loaded only where the settings name one."""

from collections.abc import Sequence

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.sink_kubernetes import KubernetesSink
from keepstep.contracts.taxonomy import Service
from keepstep.ports.sink import Sink
from keepstep.runtime.kubernetes import connected


def sink_of(cluster: str, *, namespaces: Sequence[str] = ()) -> Sink:
    """Return the sink over the cluster that the setting names. Raises Permanent if it cannot be found."""
    return KubernetesSink(connected(cluster, Service.NOTIFIER), SystemClock(), namespaces=namespaces)
