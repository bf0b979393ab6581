"""The store as a controller sees it: typed reads by owner and by node, writes that conflict, events."""

import zlib
from collections.abc import Iterator

from ..server import kinds
from ..server.deletion import DeleteOptions
from ..server.errors import ApiError
from ..server.kinds import Kind
from ..server.objects import Obj, instant
from ..server.store import Event, EventType, Store

Change = Event
"""One change in the store."""


class Cluster:
    """Reads are copies, unless the name says ``scan``."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = store.now
        self.listen = store.listen
        self._on_node: dict[str, dict[tuple[str, str], Obj]] = {}
        for pod in store.scan(kinds.POD):
            self._keep_on_node(pod)
        store.listen(self._keep_pods_by_node)

    def find(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        """Return the object or None."""
        return self.store.find(kind, name, namespace)

    def at(self, kind: Kind, key: str) -> Obj | None:
        """Return the object that a work key names: namespace/name."""
        namespace, _, name = key.rpartition("/")
        return self.store.find(kind, name, namespace)

    def scan(self, kind: Kind, namespace: str | None = None) -> Iterator[Obj]:
        """Yield the stored objects themselves, read only."""
        return self.store.scan(kind, namespace)

    def owned(self, owner: Obj, kind: Kind) -> list[Obj]:
        """Return what ``owner`` controls of one kind."""
        uid = owner["metadata"]["uid"]
        return [obj for found, obj in self.store.dependents(uid) if found is kind]

    def scan_node(self, node: str) -> list[Obj]:
        """Return the pods bound to a node, read only."""
        return list(self._on_node.get(node, {}).values())

    def create(self, kind: Kind, obj: Obj) -> Obj:
        """Create. Raises ApiError."""
        return self.store.create(kind, obj, manager="controller")

    def update(self, kind: Kind, obj: Obj) -> Obj:
        """Replace everything but the status, refused with 409 if somebody was faster."""
        return self.store.update(kind, obj, manager="controller")

    def set_status(self, kind: Kind, obj: Obj) -> Obj:
        """Replace the status, refused with 409 if somebody was faster."""
        return self.store.update(kind, obj, subresource="status", manager="controller")

    def force_status(self, kind: Kind, obj: Obj) -> None:
        """Replace the status whatever happened meanwhile, as a patch without a version does."""
        meta = obj["metadata"]

        def put(found: Obj) -> None:
            found["status"] = obj["status"]

        self.store.edit(kind, meta["name"], meta["namespace"], put, subresource="status")

    def delete(self, kind: Kind, obj: Obj, options: DeleteOptions | None = None) -> None:
        """Delete this very object (by uid); one that is gone already is no fault."""
        meta = obj["metadata"]
        found = self.find(kind, meta.get("namespace", ""), meta["name"])
        if found is None or found["metadata"]["uid"] != meta["uid"]:
            return
        self.store.delete(kind, meta["name"], meta.get("namespace", ""), options or DeleteOptions(uid=meta["uid"]))

    def drop_finalizer(self, kind: Kind, obj: Obj, finalizer: str) -> None:
        """Take a finalizer off this very object; one that is gone already is no fault."""
        meta = obj["metadata"]
        found = self.find(kind, meta.get("namespace", ""), meta["name"])
        if found is None or found["metadata"]["uid"] != meta["uid"]:
            return
        kept = [one for one in found["metadata"].get("finalizers") or () if one != finalizer]
        if len(kept) != len(found["metadata"].get("finalizers") or ()):
            found["metadata"]["finalizers"] = kept
            if not kept:
                del found["metadata"]["finalizers"]
            self.update(kind, found)

    def tell(self, about: Obj, reason: str, message: str, *, source: str, warning: bool = False) -> None:
        """Write a core/v1 event about an object; repeats raise its count, as the recorder's correlator does."""
        meta = about["metadata"]
        namespace = meta.get("namespace") or "default"
        ref = {"apiVersion": about["apiVersion"], "kind": about["kind"], "name": meta["name"], "uid": meta["uid"]}
        ref |= {"namespace": meta["namespace"]} if meta.get("namespace") else {}
        name = f"{meta['name']}.{_digest(meta['uid'], reason, message, source)}"
        now = instant(self.now())
        found = self.find(kinds.EVENT, namespace, name)
        if found is not None:
            found |= {"count": found["count"] + 1, "lastTimestamp": now}
            self.store.update(kinds.EVENT, found, manager="controller")
            return
        event: Obj = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": ref,
            "reason": reason,
            "message": message,
            "type": "Warning" if warning else "Normal",
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": source},
            "reportingComponent": source,
        }
        try:
            self.create(kinds.EVENT, event)
        except ApiError as refused:
            if refused.code not in {403, 404}:
                raise

    def _keep_pods_by_node(self, change: Change) -> None:
        if change.kind is not kinds.POD:
            return
        if change.type is EventType.DELETED:
            meta, node = change.object["metadata"], change.object["spec"].get("nodeName")
            self._on_node.get(node, {}).pop((meta["namespace"], meta["name"]), None)
        else:
            self._keep_on_node(change.object)

    def _keep_on_node(self, pod: Obj) -> None:
        meta, node = pod["metadata"], pod["spec"].get("nodeName")
        if node:
            self._on_node.setdefault(node, {})[meta["namespace"], meta["name"]] = pod


def _digest(*parts: str) -> str:
    return f"{zlib.crc32(chr(0).join(parts).encode()):08x}"
