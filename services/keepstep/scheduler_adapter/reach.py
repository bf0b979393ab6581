"""What the scheduler-adapter reaches of a Kubernetes cluster, opened at each activation so that nothing is stale."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_controllers import KubeControllers
from keepstep.adapters.kube_restart import Restarts
from keepstep.adapters.kube_sight import Sight
from keepstep.adapters.kube_workloads import KubeWorkloads
from keepstep.ports.bindings import Bindings
from keepstep.ports.cluster import Workloads
from keepstep.ports.controllers import Controllers


@dataclass(frozen=True)
class Offer:
    """Both ports of a cluster with job controllers; ``follow`` keeps what they see current."""

    workloads: Workloads
    controllers: Controllers
    follow: Callable[[], Awaitable[None]]


def offer(client: KubeClient, bindings: Bindings, *, namespaces: Sequence[str] = ()) -> Offer:
    """Return the ports over an API server; agents find their tasks in ``bindings``. Without ``namespaces``: of all."""
    sight = Sight(client, namespaces=namespaces)
    now = SystemClock().now
    restarts = Restarts(sight, now=now)
    controllers = KubeControllers(sight, restarts, now=now)
    return Offer(KubeWorkloads(sight, restarts, bindings), controllers, sight.follow)
