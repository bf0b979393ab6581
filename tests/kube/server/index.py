"""Where the store keeps its objects: by kind, namespace and name, in order, and by owner."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from .kinds import Kind
from .objects import Obj, owners_of

Key = tuple[str, str]
"""Namespace ("" for none) and name."""


class Index:
    """Finds, lists in order and knows whose dependents are whose."""

    def __init__(self) -> None:
        self._objects: dict[Kind, dict[Key, Obj]] = {}
        self._order: dict[Kind, list[Key]] = {}
        self._uids: dict[str, tuple[Kind, Key]] = {}
        self._owned: dict[str, dict[tuple[Kind, Key], None]] = {}

    def get(self, kind: Kind, key: Key) -> Obj | None:
        """Return the object or None."""
        return self._objects.get(kind, {}).get(key)

    def kinds(self) -> Iterable[Kind]:
        """Return the kinds that have or had objects."""
        return tuple(self._objects)

    def count(self, kind: Kind) -> int:
        """Return how many there are."""
        return len(self._objects.get(kind, ()))

    def scan(self, kind: Kind, namespace: str | None) -> Iterator[Obj]:
        """Yield objects in order; changes made meanwhile are not seen."""
        objects = self._objects.get(kind, {})
        order = self._order.get(kind, [])
        if namespace is not None:
            order = order[bisect_left(order, (namespace, "")) : bisect_left(order, (namespace + "\0", ""))]
        return iter([objects[key] for key in order])

    def put(self, kind: Kind, key: Key, obj: Obj) -> None:
        """Keep the object in place of what was there."""
        objects = self._objects.setdefault(kind, {})
        old = objects.get(key)
        if old is None:
            insort(self._order.setdefault(kind, []), key)
        else:
            self._disown(kind, key, old)
        objects[key] = obj
        self._uids[obj["metadata"]["uid"]] = kind, key
        for owner in owners_of(obj):
            self._owned.setdefault(owner["uid"], {})[kind, key] = None

    def remove(self, kind: Kind, key: Key) -> None:
        """Forget the object."""
        gone = self._objects[kind].pop(key)
        del self._uids[gone["metadata"]["uid"]]
        self._disown(kind, key, gone)
        order = self._order[kind]
        del order[bisect_left(order, key)]

    def by_uid(self, uid: str) -> tuple[Kind, Obj] | None:
        """Return the object of that uid."""
        found = self._uids.get(uid)
        return None if found is None else (found[0], self._objects[found[0]][found[1]])

    def owned(self, uid: str) -> list[tuple[Kind, Key]]:
        """Return the keys of the objects that name ``uid`` as an owner."""
        return list(self._owned.get(uid, ()))

    def _disown(self, kind: Kind, key: Key, obj: Obj) -> None:
        for owner in owners_of(obj):
            held = self._owned.get(owner["uid"])
            if held is not None:
                held.pop((kind, key), None)
                if not held:
                    del self._owned[owner["uid"]]
