"""The objects of the cluster: in memory, synchronous, with the versions, conflicts and deletions of the real store.

Everything else of the double stands on this: the HTTP layer wraps it, controllers read it and write to it.
``get`` and ``list`` return copies that a caller may change; ``scan`` and events share the stored objects, which nobody
changes. All calls come from one thread.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import deletion, errors, managed, patches
from .deletion import DeleteOptions
from .index import Key
from .journal import Event, EventType
from .kinds import NAMESPACE, NODE, Kind
from .objects import Obj, copied, instant
from .patches import PatchType
from .stock import Stock
from .writing import Author, keep_identity, keep_other_half, said

__all__ = ["Change", "Event", "EventType", "Rule", "Store"]

_NAMESPACES = ("default", "kube-system", "kube-node-lease")
_UIDS = uuid.UUID("6b656570-7374-6570-0000-000000000000")


@dataclass(frozen=True)
class Change:
    """What is about to be stored; ``old`` is None on create. A rule may fill ``new`` in."""

    store: "Store"
    kind: Kind
    old: Obj | None
    new: Obj
    subresource: str

    @property
    def name(self) -> str:
        """Return the object's name."""
        name: str = self.new["metadata"]["name"]
        return name


Rule = Callable[[Change], None]
"""Asked of each change before it is stored; raises ApiError to refuse it."""


class Store(Stock):
    """All objects by kind, namespace and name, and whatever changes them."""

    def __init__(self, now: Callable[[], datetime], *, rules: Sequence[Rule] = (), history: int = 10_000) -> None:
        super().__init__(history)
        self.now = now
        self._rules = tuple(rules)
        self._count = 0
        for name in _NAMESPACES:
            self.create(NAMESPACE, {"metadata": {"name": name}})

    def create(
        self, kind: Kind, obj: Obj, namespace: str = "", *, manager: str = "unknown", dry_run: bool = False
    ) -> Obj:
        """Store a new object and return it as stored. Raises ApiError (404 namespace, 409, 422, 500)."""
        return self._create(kind, obj, namespace, Author(manager, "", dry_run))

    def plant(self, kind: Kind, obj: Obj) -> None:
        """Put an object there as it is, unseen by rules, listeners and history: for making big clusters fast."""
        self._count += 1
        self.version += 1
        meta = obj["metadata"]
        key = meta.get("namespace", ""), meta["name"]
        uid = str(uuid.uuid5(_UIDS, f"{self._count} {kind.resource} {key}"))
        meta |= {"uid": uid, "resourceVersion": str(self.version)}
        self._index.put(kind, key, obj)
        self._journal.compact([kind], self.version)

    def update(
        self,
        kind: Kind,
        obj: Obj,
        namespace: str = "",
        *,
        subresource: str = "",
        manager: str = "unknown",
        dry_run: bool = False,
    ) -> Obj:
        """Replace an object (PUT); ``subresource`` is "" or "status". Raises ApiError (404, 409, 422)."""
        meta = obj["metadata"]
        key = (meta.get("namespace") or namespace if kind.namespaced else "", meta["name"])
        old = self.peek(kind, key[1], key[0])
        if kind.crd and not meta.get("resourceVersion"):
            cause = errors.Cause("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
            raise errors.invalid(kind, key[1], [cause])
        return self._write(kind, key, old, copied(obj), Author(manager, subresource, dry_run))

    def patch(
        self,
        kind: Kind,
        name: str,
        body: Any,
        namespace: str = "",
        *,
        how: PatchType = PatchType.MERGE,
        subresource: str = "",
        manager: str = "unknown",
        force: bool = False,
        dry_run: bool = False,
    ) -> Obj:
        """Change an object. Raises ApiError (404, 409, 415, 422); an APPLY creates what is absent."""
        author = Author(manager, subresource, dry_run)
        if how is PatchType.APPLY:
            return self._apply(kind, name, body, namespace, author, force=force)
        old = self.peek(kind, name, namespace)
        match how:
            case PatchType.MERGE:
                new = patches.merged(copied(old), body)
            case PatchType.STRATEGIC:
                if kind.crd:
                    raise errors.ApiError(415, "UnsupportedMediaType", _ONLY_FOR_CRDS)
                new = patches.strategically_merged(copied(old), body)
            case PatchType.JSON:
                new = patches.json_patched(old, body)
        return self._write(kind, (namespace, name), old, copied(new), author)

    def edit(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        change: Callable[[Obj], None],
        *,
        subresource: str = "",
        manager: str = "controller",
    ) -> Obj:
        """Read, change and write in one go, as a controller; a change of nothing says nothing."""
        new = self.get(kind, name, namespace)
        change(new)
        return self.update(kind, new, namespace, subresource=subresource, manager=manager)

    def delete(self, kind: Kind, name: str, namespace: str = "", options: DeleteOptions = DeleteOptions()) -> Obj:  # noqa: B008 - frozen
        """Delete as the real registry does and return the object as it then stands (or last stood)."""
        key = (namespace, name)
        old = self.peek(kind, name, namespace)
        deletion.check_preconditions(kind, old, options)
        new = copied(old)
        at_once = deletion.mark(kind, new, options, self.now())
        if options.dry_run:
            return new
        gone = at_once and deletion.may_go(new)
        if new != old and (kind.graceful or not gone):
            new = self._put(EventType.MODIFIED, kind, key, new)
        if gone:
            new = self._remove(kind, key, new)
        return copied(new)

    def _create(self, kind: Kind, obj: Obj, namespace: str, author: Author, *, applied: bool = False) -> Obj:
        new = copied(obj)
        meta = new.setdefault("metadata", {})
        self._count += 1
        key = self.key_for(kind, new, namespace, nth=self._count)
        if meta.get("resourceVersion"):
            raise errors.ApiError(500, "", "resourceVersion should not be set on objects to be created")
        for gone in ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"):
            meta.pop(gone, None)
        meta["uid"] = str(uuid.uuid5(_UIDS, f"{self._count} {kind.resource} {key}"))
        meta["creationTimestamp"] = instant(self.now())
        if kind.generation:
            meta["generation"] = 1
        if kind.status and kind is not NODE:
            new.pop("status", None)
        if kind is NAMESPACE:
            new |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        new |= {"apiVersion": kind.api_version, "kind": kind.kind}
        self._apply_rules(kind, None, new, "")
        if self._index.get(kind, key) is not None:
            raise errors.already_exists(kind, key[1])
        if applied:
            managed.claim(new, obj, manager=author.manager, now=self.now())
        else:
            managed.record_update(new, None, manager=author.manager, subresource="", now=self.now())
        return new if author.dry_run else copied(self._put(EventType.ADDED, kind, key, new))

    def _apply(self, kind: Kind, name: str, body: Obj, namespace: str, author: Author, *, force: bool) -> Obj:
        old = self._index.get(kind, (namespace, name))
        if old is None:
            fresh = copied(body)
            fresh.setdefault("metadata", {})["name"] = name
            return self._create(kind, fresh, namespace, author, applied=True)
        new = managed.applied(
            old, body, manager=author.manager, subresource=author.subresource, force=force, now=self.now()
        )
        return self._write(kind, (namespace, name), old, new, author, applied=True)

    def _write(self, kind: Kind, key: Key, old: Obj, new: Obj, author: Author, *, applied: bool = False) -> Obj:
        keep_identity(kind, old, new)
        keep_other_half(kind, old, new, author.subresource)
        self._apply_rules(kind, old, new, author.subresource)
        if kind.generation and author.subresource != "binding" and said(kind, new) != said(kind, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if not applied:
            managed.record_update(new, old, manager=author.manager, subresource=author.subresource, now=self.now())
        if new == old:
            return copied(old)
        if author.dry_run:
            return new
        if deletion.may_go(new):
            return copied(self._remove(kind, key, new))
        return copied(self._put(EventType.MODIFIED, kind, key, new))

    def _apply_rules(self, kind: Kind, old: Obj | None, new: Obj, subresource: str) -> None:
        change = Change(self, kind, old, new, subresource)
        for rule in self._rules:
            rule(change)

    def _put(self, change: EventType, kind: Kind, key: Key, new: Obj) -> Obj:
        was = self._index.get(kind, key)
        self.version += 1
        new["metadata"]["resourceVersion"] = str(self.version)
        self._index.put(kind, key, new)
        self._journal.say(Event(change, kind, new, was, self.version))
        return new

    def _remove(self, kind: Kind, key: Key, last: Obj) -> Obj:
        was = self._index.get(kind, key)
        self.version += 1
        gone = copied(last)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._index.remove(kind, key)
        self._journal.say(Event(EventType.DELETED, kind, gone, was, self.version))
        return gone


_ONLY_FOR_CRDS = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
)
