"""Of one node only one thing is done at a time; of nodes that nobody is at, nothing is kept."""

import asyncio
from weakref import WeakValueDictionary

from keepstep.contracts.ids import NodeName


class Turns:
    """Locks by node, each there while somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[NodeName, asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        """Return how many nodes somebody is at."""
        return len(self._locks)

    def of(self, node: NodeName) -> asyncio.Lock:
        """Return the lock of the node."""
        return self._locks.setdefault(node, asyncio.Lock())
