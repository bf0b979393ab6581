"""What the scheduler-adapter reaches of a Kubernetes cluster, opened at each activation so that nothing is stale."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from keepstep.adapters.clock import SystemClock
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_controllers import KubeControllers
from keepstep.adapters.kube_restart import Restarts
from keepstep.adapters.kube_sight import Sight
from keepstep.adapters.kube_workloads import KubeWorkloads
from keepstep.injection.ours import Ours
from keepstep.ports.bindings import Bindings
from keepstep.ports.cluster import Workloads
from keepstep.ports.controllers import Controllers
from keepstep.scheduler_adapter.orders import Orders


@dataclass(frozen=True)
class Offer:
    """Both ports of a cluster with job controllers; ``follow`` keeps what they see current, ``orders`` makes jobs."""

    workloads: Workloads
    controllers: Controllers
    follow: Callable[[], Awaitable[None]]
    orders: Orders


def offer(client: KubeClient, bindings: Bindings, *, ours: Ours, namespaces: Sequence[str] = ()) -> Offer:
    """Return the ports over an API server; agents find their tasks in ``bindings``. Without ``namespaces``: of all.

    ``ours`` is what of keepstep enters the pods of jobs that people order.
    """
    sight = Sight(client, namespaces=namespaces)
    now = SystemClock().now
    restarts = Restarts(sight, now=now)
    controllers = KubeControllers(sight, restarts, now=now)
    return Offer(KubeWorkloads(sight, restarts, bindings), controllers, sight.follow, Orders(client, ours))
