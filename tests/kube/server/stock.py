"""The objects that the cluster has, as whoever reads or watches sees them.

``get`` and ``list`` return copies that a caller may change; ``scan`` and events share the stored objects, which nobody
changes.
"""

from collections.abc import Callable, Iterator, Sequence

from . import errors
from .index import Index, Key
from .journal import Event, Journal
from .kinds import NAMESPACE, Kind
from .objects import Obj, copied
from .selectors import by_fields, by_labels
from .writing import suffix

_FIRST_VERSION = 1000


class Stock:
    """All objects by kind, namespace and name, to read and to watch."""

    def __init__(self, history: int) -> None:
        self.version = _FIRST_VERSION
        self._index = Index()
        self._journal = Journal(history, _FIRST_VERSION)

    def get(self, kind: Kind, name: str, namespace: str = "") -> Obj:
        """Return a copy; raises ApiError 404."""
        return copied(self.peek(kind, name, namespace))

    def find(self, kind: Kind, name: str, namespace: str = "") -> Obj | None:
        """Return a copy, None if there is none."""
        found = self._index.get(kind, (namespace, name))
        return None if found is None else copied(found)

    def peek(self, kind: Kind, name: str, namespace: str = "") -> Obj:
        """Return the stored object itself, read only; raises ApiError 404."""
        found = self._index.get(kind, (namespace, name))
        if found is None:
            raise errors.not_found(kind, name)
        return found

    def list(self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = "") -> list[Obj]:
        """Return copies by namespace and name; namespace None means all."""
        take, fit = by_labels(labels), by_fields(fields)
        return [copied(obj) for obj in self.scan(kind, namespace) if take(obj) and fit(obj)]

    def scan(self, kind: Kind, namespace: str | None = None) -> Iterator[Obj]:
        """Yield the stored objects themselves, read only, by namespace and name."""
        return self._index.scan(kind, namespace)

    def dependents(self, uid: str) -> Sequence[tuple[Kind, Obj]]:
        """Return copies of the objects that name ``uid`` as an owner."""
        return [(kind, copied(self.peek(kind, name, namespace))) for kind, (namespace, name) in self._index.owned(uid)]

    def by_uid(self, uid: str) -> tuple[Kind, Obj] | None:
        """Return the object of that uid, read only."""
        return self._index.by_uid(uid)

    def count(self, kind: Kind) -> int:
        """Return how many there are."""
        return self._index.count(kind)

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call ``listener`` with each change, in order, right after it; returns what ends that."""
        return self._journal.listen(listener)

    def since(self, kind: Kind, version: int) -> Sequence[Event]:
        """Return a kind's changes after ``version``. Raises ApiError 410 for one older than the history."""
        return self._journal.since(kind, version)

    def compact(self) -> None:
        """Forget the history, so that a watch from any older version is told 410."""
        self._journal.compact(self._index.kinds(), self.version)

    def key_for(self, kind: Kind, obj: Obj, namespace: str, *, nth: int) -> Key:
        """Return where the ``nth`` object that is made goes; fills its name in. Raises ApiError (403, 404, 422)."""
        meta = obj["metadata"]
        if not meta.get("name"):
            if not meta.get("generateName"):
                cause = errors.Cause(
                    "metadata.name", "Required value: name or generateName is required", "FieldValueRequired"
                )
                raise errors.invalid(kind, "", [cause])
            meta["name"] = meta["generateName"] + suffix(nth)
        if not kind.namespaced:
            return "", meta["name"]
        meta["namespace"] = namespace = meta.get("namespace") or namespace or "default"
        found = self._index.get(NAMESPACE, ("", namespace))
        if found is None:
            raise errors.not_found(NAMESPACE, namespace)
        if "deletionTimestamp" in found["metadata"]:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise errors.forbidden(kind, meta["name"], why)
        return namespace, meta["name"]
