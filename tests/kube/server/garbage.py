"""The garbage collector and the namespace controller: what goes after its owner, before it, or stays without it.

Rules read from pkg/controller/garbagecollector; the driver calls ``collect`` after changes until it returns False.
"""

from .deletion import FOREGROUND, ORPHAN, DeleteOptions
from .kinds import KINDS, NAMESPACE, Kind
from .objects import Obj, owners_of
from .store import Event, EventType, Store


class GarbageCollector:
    """Follows the store's changes and acts when told to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._touched: dict[str, None] = {}
        self._owners: dict[str, None] = {}
        store.listen(self._hear)

    def collect(self) -> bool:
        """Do what has become due; return whether something was done."""
        did = False
        while self._touched or self._owners:
            touched, self._touched = self._touched, {}
            owners, self._owners = self._owners, {}
            for uid in touched:
                did = self._consider_dependent(uid) or did
            for uid in owners:
                did = self._consider_owner(uid) or did
        return did

    def _hear(self, event: Event) -> None:
        meta = event.object["metadata"]
        if event.type is EventType.DELETED:
            for _, dependent in self._store.dependents(meta["uid"]):
                self._touched[dependent["metadata"]["uid"]] = None
            for ref in owners_of(event.object):
                self._owners[ref["uid"]] = None
            if event.kind.namespaced:
                self._touch_namespace(meta["namespace"])
        elif "deletionTimestamp" in meta:
            self._owners[meta["uid"]] = None
        elif event.type is EventType.ADDED and meta.get("ownerReferences"):
            self._touched[meta["uid"]] = None

    def _touch_namespace(self, name: str) -> None:
        found = self._store.find(NAMESPACE, name)
        if found is not None and "deletionTimestamp" in found["metadata"]:
            self._owners[found["metadata"]["uid"]] = None

    def _consider_dependent(self, uid: str) -> bool:
        """Delete what no living owner is left for; strike out the owners that are gone."""
        found = self._store.by_uid(uid)
        if found is None:
            return False
        kind, obj = found
        refs = list(owners_of(obj))
        living = [ref for ref in refs if self._store.by_uid(ref["uid"]) is not None]
        if len(living) == len(refs):
            return False
        if living:
            self._patch(kind, obj, {"ownerReferences": living})
            return True
        return self._delete(kind, obj, "Background")

    def _consider_owner(self, uid: str) -> bool:
        found = self._store.by_uid(uid)
        if found is None or "deletionTimestamp" not in found[1]["metadata"]:
            return False
        kind, obj = found
        if kind is NAMESPACE:
            return self._empty(obj)
        finalizers = obj["metadata"].get("finalizers") or []
        if ORPHAN in finalizers:
            return self._orphan(kind, obj)
        if FOREGROUND in finalizers:
            return self._delete_foreground(kind, obj)
        return False

    def _orphan(self, kind: Kind, owner: Obj) -> bool:
        uid = owner["metadata"]["uid"]
        for dependent_kind, dependent in self._store.dependents(uid):
            left = [ref for ref in owners_of(dependent) if ref["uid"] != uid]
            self._patch(dependent_kind, dependent, {"ownerReferences": left or None})
        self._drop_finalizer(kind, owner, ORPHAN)
        return True

    def _delete_foreground(self, kind: Kind, owner: Obj) -> bool:
        uid = owner["metadata"]["uid"]
        did = blocked = False
        for dependent_kind, dependent in self._store.dependents(uid):
            blocks = any(ref["uid"] == uid and ref.get("blockOwnerDeletion") for ref in owners_of(dependent))
            blocked = blocked or blocks
            has_own = bool(self._store.dependents(dependent["metadata"]["uid"]))
            did = self._delete(dependent_kind, dependent, "Foreground" if has_own else "Background") or did
        still = [one for _, one in self._store.dependents(uid)] if blocked else []
        if not still:
            self._drop_finalizer(kind, owner, FOREGROUND)
            did = True
        return did

    def _empty(self, namespace: Obj) -> bool:
        """Delete all content of a namespace that terminates, then let it go."""
        name = namespace["metadata"]["name"]
        content = [(kind, obj) for kind in KINDS if kind.namespaced for obj in self._store.scan(kind, name)]
        if not content:
            namespace = self._store.get(NAMESPACE, name)
            namespace["spec"]["finalizers"] = []
            self._store.update(NAMESPACE, namespace, manager="kube-controller-manager")
            return True
        return sum(self._delete(kind, obj, "Background") for kind, obj in content) > 0

    def _delete(self, kind: Kind, obj: Obj, propagation: str) -> bool:
        meta = obj["metadata"]
        if "deletionTimestamp" in meta:
            return False
        options = DeleteOptions(uid=meta["uid"], propagation=propagation)
        self._store.delete(kind, meta["name"], meta.get("namespace", ""), options)
        return True

    def _drop_finalizer(self, kind: Kind, obj: Obj, finalizer: str) -> None:
        left = [one for one in obj["metadata"]["finalizers"] if one != finalizer]
        self._patch(kind, obj, {"finalizers": left or None})

    def _patch(self, kind: Kind, obj: Obj, metadata: Obj) -> None:
        meta = obj["metadata"]
        body = {"metadata": metadata}
        self._store.patch(kind, meta["name"], body, meta.get("namespace", ""), manager="kube-controller-manager")
