"""The kubelets of all nodes in one: a controller on the loop that keeps pods as real processes.

It writes through the store as the other controllers of the double do, and so shares their clock and their races. What
an API server that is away, or a network that is cut, means for a kubelet, ``reaches`` says: then it writes nothing and
hears nothing, and its containers run on.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from ..controllers.cluster import Change, Cluster
from ..controllers.loop import Key, Steps
from ..controllers.pods import finished, node_of, terminating
from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.objects import Obj, copied, micro_instant
from .environment import Image
from .lifecycle import Act, Verb, is_over, next_acts
from .processes import Bind
from .run import Outside, Run
from .states import End, Times
from .status import initialized, tell
from .volumes import Places, Token, decoded

_NOW = timedelta(0)
_REACTION = timedelta(milliseconds=5)
_LEASES = "kube-node-lease"
_UNKNOWN = "ContainerStatusUnknown"
_NOT_LOCATED = "The container could not be located when the pod was terminated"


@dataclass(frozen=True)
class Machines:
    """What the nodes are made of: a folder, images by name with one for all others, and what every container sees."""

    folder: Path
    images: Mapping[str, Image]
    other_images: Image
    always: tuple[Bind, ...] = ()
    times: Times = field(default_factory=Times)


class Kubelet:
    """Keys are ``namespace/name/uid`` of pods and ``/node`` of nodes.

    ``wake`` queues a key at once, ``token`` makes the tokens of pods.
    """

    pace = 1.0

    def __init__(self, cluster: Cluster, machines: Machines, address: Callable[[str], str]) -> None:
        self._cluster = cluster
        self._machines = machines
        self._address = address
        self._pod_count: dict[str, int] = {}
        self.runs: dict[str, Run] = {}
        self.unpullable: set[str] = set()
        self.reaches: Callable[[str], bool] = lambda _: True
        self.wake: Callable[[Key], None] = lambda _: None
        self.token: Token = lambda *_: ""

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Pods with a node, and new nodes."""
        if change.kind is kinds.POD and node_of(change.object):
            yield _key(change.object), _REACTION
        elif change.kind is kinds.NODE and change.was is None:
            yield Key(f"/{change.object['metadata']['name']}"), _NOW

    def sync(self, key: Key) -> Steps:
        """Renew a lease, or bring a pod's processes and its status to what they should be."""
        if key.startswith("/"):
            return self.renew(key[1:])
        return self._sync_pod(key)
        yield

    def keys(self, node: str) -> list[Key]:
        """Return all that is to be looked at when the node can be reached again: its lease, its pods, gone ones too."""
        pods = [_key(pod) for pod in self._cluster.scan_node(node)]
        return [Key(f"/{node}"), *pods, *(_key(run.pod) for run in self.on(node))]

    def on(self, node: str) -> list[Run]:
        """Return the pods that are on the node, whatever the API server says."""
        return [run for run in self.runs.values() if node_of(run.pod) == node]

    def close(self) -> None:
        """Kill all that runs and remove all that is left of it."""
        for run in self.runs.values():
            run.clear()
        self.runs.clear()

    def renew(self, node: str) -> timedelta | None:
        """Renew the node's lease and return when to do so again."""
        if not self.reaches(node) or self._cluster.find(kinds.NODE, "", node) is None:
            return None
        renewed = {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": micro_instant(self._cluster.now())}
        lease = self._cluster.find(kinds.LEASE, _LEASES, node)
        if lease is None:
            self._cluster.create(kinds.LEASE, {"metadata": {"name": node, "namespace": _LEASES}, "spec": renewed})
        else:
            lease["spec"] = renewed
            self._cluster.update(kinds.LEASE, lease)
        return self._machines.times.wait(self._machines.times.lease_renewal)

    def _sync_pod(self, key: Key) -> timedelta | None:
        run = self._observed(key)
        if run is None:
            return None
        now = self._cluster.now()
        if (run.gone or terminating(run.pod)) and run.containers.asked_to_end is None:
            run.containers.asked_to_end = now
        look = self._act(run, now)
        if is_over(run.pod, run.containers):
            run.drop()
            if run.containers.asked_to_end is not None:
                self._finish(run)
                return None
        self._write_status(run)
        return look

    def _observed(self, key: Key) -> Run | None:
        """Return the pod's run with what can be seen of the object, a new one for a pod that is new here."""
        namespace, name, uid = key.split("/")
        run, pod = self.runs.get(uid), self._cluster.find(kinds.POD, namespace, name)
        if pod is not None and pod["metadata"]["uid"] != uid:
            pod = None
        node = node_of(run.pod) if run is not None else "" if pod is None else node_of(pod)
        if not self.reaches(node):
            return None
        if run is None:
            return None if pod is None or finished(pod) else self._admitted(pod, key)
        if pod is None:
            run.gone = True
        else:
            run.pod = pod
            run.refresh()
        return run

    def _admitted(self, pod: Obj, key: Key) -> Run | None:
        if pod["metadata"].get("deletionGracePeriodSeconds") == 0:
            return None
        node, uid = node_of(pod), pod["metadata"]["uid"]
        host = self._address(node)
        number = self._pod_count[node] = self._pod_count.get(node, 1) + 1
        ip = f"{host.rpartition('.')[0]}.{number % 254 + 1}"
        outside = Outside(
            find=lambda kind, name: self._values(pod["metadata"]["namespace"], kind, name),
            token=self.token,
            image=self._image,
            always=self._machines.always,
            times=self._machines.times,
            now=self._cluster.now,
            poke=lambda: self.wake(key),
        )
        places = Places(self._machines.folder / node / uid, self._machines.folder / "claims")
        run = self.runs[uid] = Run(pod, places, (ip, host), outside)
        return run

    def _act(self, run: Run, now: datetime) -> timedelta | None:
        """Do what is due and return how long until there is more to do."""
        times = self._machines.times
        acts = next_acts(run.pod, run.containers, now=now, times=times)
        if any(act.verb is Verb.START for act in acts) and (why := run.prepare()) is not None:
            for act in acts:
                act.container.why = why
            return times.wait(times.look_again) if why.message else None
        for act in acts:
            if act.at <= now or act.verb is Verb.BACK_OFF:
                run.do(act)
        later = [at for act in acts if (at := _due(act)) > now]
        return min(later) - now if later else None

    def _finish(self, run: Run) -> None:
        """Say how the pod ended, let its object go and leave nothing of it on the node."""
        if not run.gone:
            if initialized(run.containers):
                for one in run.containers.mains:
                    one.end = one.end or End(137, _UNKNOWN, self._cluster.now(), None, _NOT_LOCATED)
            self._write_status(run)
            if run.pod["metadata"].get("deletionGracePeriodSeconds") != 0:
                self._cluster.delete(kinds.POD, run.pod, DeleteOptions(grace=0, uid=run.uid))
        run.clear()
        del self.runs[run.uid]

    def _write_status(self, run: Run) -> None:
        if run.gone:
            return
        pod = run.pod

        def change(found: Obj) -> None:
            tell(found.setdefault("status", {}), pod, run.containers, run.shown, self._cluster.now())

        changed = copied(pod)
        change(changed)
        if changed["status"] != pod.get("status"):
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            self._cluster.store.edit(kinds.POD, name, namespace, change, subresource="status", manager="kubelet")
            run.pod = changed

    def _image(self, name: str) -> Image | None:
        return None if name in self.unpullable else self._machines.images.get(name, self._machines.other_images)

    def _values(self, namespace: str, kind: str, name: str) -> Obj | None:
        if kind == "secret":
            found = self._cluster.find(kinds.SECRET, namespace, name)
            return None if found is None else decoded(found)
        found = self._cluster.find(kinds.CONFIG_MAP, namespace, name)
        return None if found is None else dict(found.get("data") or {})


def _due(act: Act) -> datetime:
    return act.container.not_before or act.at if act.verb is Verb.START else act.at


def _key(pod: Obj) -> Key:
    meta = pod["metadata"]
    return Key(f"{meta['namespace']}/{meta['name']}/{meta['uid']}")
