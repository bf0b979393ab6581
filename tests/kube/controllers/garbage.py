"""Runs the store's garbage collector as one of the controllers, a moment after what calls for it."""

from collections.abc import Iterable
from datetime import timedelta

from ..server import kinds
from ..server.garbage import GarbageCollector
from ..server.store import EventType
from .cluster import Change, Cluster
from .loop import Key, Steps

_SOON = timedelta(milliseconds=15)
_ALL = Key("")


class Garbage:
    """One key: all that has become due."""

    pace = 1.0

    def __init__(self, cluster: Cluster) -> None:
        self._collector = GarbageCollector(cluster.store)

    def concerns(self, change: Change) -> Iterable[tuple[Key, timedelta]]:
        """Ends, deletions under way, and new dependents."""
        meta = change.object["metadata"]
        if change.kind in {kinds.EVENT, kinds.LEASE}:
            return
        born_owned = change.type is EventType.ADDED and meta.get("ownerReferences")
        if change.type is EventType.DELETED or "deletionTimestamp" in meta or born_owned:
            yield _ALL, _SOON

    def sync(self, _key: Key) -> Steps:
        """Collect."""
        self._collector.collect()
        return None
        yield
