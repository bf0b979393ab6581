"""The double in virtual time: a store, its controllers, a clock that only the replay moves."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ..controllers.cluster import Cluster
from ..controllers.nodes import NodeTimes
from ..controllers.plane import Chance, Pace, Plane
from ..kubelet import VirtualKubelet
from ..server import kinds
from ..server.objects import Obj, instant
from ..server.rules import RULES
from ..server.store import Store

START = datetime(2026, 11, 29, 21, 40, 0, tzinfo=UTC)
_TIMES = NodeTimes(monitor_grace=timedelta(seconds=20))  # as the traces were recorded


class Bench:
    """One scenario's cluster."""

    def __init__(self, namespace: str, nodes: Mapping[str, bool], chance: Chance, pytorch_lag: timedelta) -> None:
        self._now = START
        self.store = Store(lambda: self._now, rules=RULES)
        cluster = Cluster(self.store)
        self.kubelet = VirtualKubelet(cluster)
        pace = Pace(nodes=_TIMES, pytorch_lag=pytorch_lag)
        self.plane = Plane(self.store, [self.kubelet], pace=pace, chance=chance, cluster=cluster)
        self._furnish(namespace, nodes)
        self.plane.start()
        self.advance(timedelta(seconds=2))
        self.zero = self._now

    @property
    def now(self) -> datetime:
        """Return the virtual instant."""
        return self._now

    @property
    def t(self) -> float:
        """Return the seconds since the nodes were ready."""
        return (self._now - self.zero).total_seconds()

    def advance(self, by: timedelta) -> None:
        """Let this much time pass."""
        self.plane.loop.advance(self._now + by, self._set)

    def advance_to(self, t: float) -> None:
        """Let time pass until ``t`` seconds after the start; nothing if that is over."""
        until = self.zero + timedelta(seconds=t)
        if until > self._now:
            self.plane.loop.advance(until, self._set)

    def advance_until(self, holds: Callable[[], bool], within: float) -> bool:
        """Let time pass until something holds; tell whether it did within that many seconds."""
        end = self._now + timedelta(seconds=within)
        while not holds():
            due = self.plane.loop.next_due()
            if due is None or due > end:
                self.plane.loop.advance(end, self._set)
                return holds()
            self.plane.loop.advance(due, self._set)
        return True

    def _set(self, now: datetime) -> None:
        self._now = now

    def _furnish(self, namespace: str, nodes: Mapping[str, bool]) -> None:
        self.store.create(kinds.NAMESPACE, {"metadata": {"name": namespace}})
        self.store.create(kinds.SERVICE_ACCOUNT, {"metadata": {"name": "default", "namespace": namespace}})
        self.store.create(kinds.CLUSTER_TRAINING_RUNTIME, runtime("torch-distributed"))
        self.store.create(kinds.TRAINING_RUNTIME, runtime("rt", backoffLimit=0), namespace)
        for name, cordoned in nodes.items():
            self.store.create(kinds.NODE, node(name, namespace, self._now, cordoned=cordoned))


def node(name: str, pool: str, now: datetime, *, cordoned: bool = False) -> Obj:
    """Return a node with eight GPUs."""
    amounts = {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8", "pods": "110"}
    since = {"lastHeartbeatTime": instant(now), "lastTransitionTime": instant(now)}
    healthy = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
    conditions: Sequence[Obj] = [
        {"type": kind, "status": status, "reason": "KubeletReady" if kind == "Ready" else "KubeletOk", **since}
        for kind, status in {"Ready": "True", **healthy}.items()
    ]
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "pool": pool}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions},
    }


def runtime(name: str, **limits: int) -> Obj:
    """Return a runtime as Trainer ships it: one replicated job, no failure policy."""
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    pod = {"spec": {"containers": [{"name": "node", "image": "none"}], "restartPolicy": "OnFailure"}}
    template = {"metadata": {"labels": labels}, "spec": {"template": pod, **limits}}
    roles = [{"name": "node", "template": template}]
    policy = {"numNodes": 1, "torch": {"numProcPerNode": "auto"}}
    return {"metadata": {"name": name}, "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": roles}}}}
