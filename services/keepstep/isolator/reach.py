"""What the isolator's hand reaches: the nodes of this machine, or those of a Kubernetes cluster."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from keepstep.adapters.kube_named import names_kubernetes
from keepstep.adapters.local_cluster import cluster_of
from keepstep.isolator.settings import Settings
from keepstep.ports.cluster import Devices, Evictions, Fleet


@dataclass(frozen=True)
class Reach:
    """The ports of one cluster; ``follow`` keeps what is read of it current, None where every look is a fresh one."""

    fleet: Fleet
    devices: Devices | None = None
    evictions: Evictions | None = None
    follow: Callable[[], Awaitable[None]] | None = None


def reach_of(cluster: str, own: Settings) -> Callable[[], Reach]:
    """Return what opens the reach that the settings name, once for each activation; raises Permanent if they name none.

    A replica that becomes active again must not judge by what it saw when it was active last.
    """
    if not names_kubernetes(cluster):
        return partial(Reach, cluster_of(cluster))
    from keepstep.isolator.kubernetes import named  # noqa: PLC0415 - an extra of its own

    return named(cluster, own)
