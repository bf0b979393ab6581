"""What may befall the nodes of a test: lost in three ways, found again, cordoned, not ready, taken away."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from enum import StrEnum

from ..controllers.cluster import Cluster
from ..controllers.loop import Loop
from ..controllers.pods import set_condition
from ..server import kinds
from ..server.objects import Obj, instant
from .kubelet import Kubelet

_HEALTHY = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
_READY = "KubeletReady", "kubelet is posting ready status"


class Fate(StrEnum):
    """How a node is lost. Its kubelet is silent in all three."""

    DEAD = "dead"
    """Power is cut: no process of its pods is left."""
    CUT_OFF = "cut off"
    """It cannot reach the API server; its pods run on."""
    FROZEN = "frozen"
    """Nothing on it moves, as in a machine that is paused; it goes on where it was."""


class Nodes:
    """The nodes of one cluster."""

    def __init__(self, cluster: Cluster, kubelet: Kubelet, loop: Loop) -> None:
        self._cluster = cluster
        self._kubelet = kubelet
        self._loop = loop
        self.lost: dict[str, Fate] = {}

    def lose(self, name: str, fate: Fate = Fate.DEAD) -> None:
        """Silence the node's kubelet, and let its pods' processes have that fate."""
        self.lost[name] = fate
        match fate:
            case Fate.DEAD:
                for run in self._kubelet.on(name):
                    run.drop()
            case Fate.FROZEN:
                self._signal(name, signal.SIGSTOP)
            case Fate.CUT_OFF:
                return

    def find_again(self, name: str) -> None:
        """Let it speak: it renews its lease, says Ready, and does what it was told meanwhile."""
        fate = self.lost.pop(name)
        if fate is Fate.FROZEN:
            self._signal(name, signal.SIGCONT)
        for run in self._kubelet.on(name) if fate is Fate.DEAD else ():
            run.find_dead()
        self._kubelet.renew(name)
        self.say_ready(name)
        self.look(name)

    def say_ready(self, name: str) -> None:
        """Let the node's kubelet post that it is ready."""
        self._post(name, "True", *_READY)

    def say_not_ready(self, name: str, message: str = "container runtime is down") -> None:
        """Let it post that it is not, with its lease renewed all the same."""
        self._post(name, "False", "KubeletNotReady", message)

    def cordon(self, name: str, *, by: str = "kubectl-cordon") -> None:
        """Cordon it as a person does with kubectl."""
        self._cluster.store.patch(kinds.NODE, name, {"spec": {"unschedulable": True}}, manager=by)

    def uncordon(self, name: str, *, by: str = "kubectl-uncordon") -> None:
        """Take a cordon off as a person does with kubectl."""
        self._cluster.store.patch(kinds.NODE, name, {"spec": {"unschedulable": None}}, manager=by)

    def delete(self, name: str) -> None:
        """Delete the node object, as a cloud does with a machine that is gone; lose it first if it is."""
        self._cluster.store.delete(kinds.NODE, name)

    def look(self, *names: str) -> None:
        """Let kubelets look at all that is theirs."""
        for name in names:
            self._loop.start(*((self._kubelet, key) for key in self._kubelet.keys(name)))

    def processes(self, name: str) -> list[int]:
        """Return the pids of all pods' processes on the node."""
        return [pid for run in self._kubelet.on(name) for pid in run.pids()]

    def _signal(self, name: str, number: signal.Signals) -> None:
        """Reach every process, also those that are born while we look."""
        reached: set[int] = set()
        while fresh := set(self.processes(name)) - reached:
            for pid in fresh:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            reached |= fresh

    def _post(self, name: str, ready: str, reason: str, message: str) -> None:
        def change(node: Obj) -> None:
            now = self._cluster.now()
            for kind, (why, text) in _HEALTHY.items():
                set_condition(node, kind, "False", reason=why, message=text, now=now)
            set_condition(node, "Ready", ready, reason=reason, message=message, now=now)

        self._cluster.store.edit(kinds.NODE, name, "", change, subresource="status", manager="kubelet")


def node_object(name: str, ip: str, gpus: int, now: datetime) -> Obj:
    """Return a ready node as a kubelet registers it."""
    amounts = {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": str(gpus), "pods": "110"}
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    healthy = {kind: ("False", *told) for kind, told in _HEALTHY.items()}
    status = {
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": list(_conditions({**healthy, "Ready": ("True", *_READY)}, instant(now))),
        "addresses": [{"type": "InternalIP", "address": ip}, {"type": "Hostname", "address": name}],
        "nodeInfo": {"kubeletVersion": "v1.36.0", "operatingSystem": "linux", "architecture": "amd64"},
    }
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status}


def _conditions(told: dict[str, tuple[str, str, str]], now: str) -> Iterable[Obj]:
    for kind, (status, reason, message) in told.items():
        since = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        yield {"type": kind, "status": status, "reason": reason, "message": message, **since}
