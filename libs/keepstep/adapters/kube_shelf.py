"""What a cache knows, and what changes when a list or an event comes in: pure, so that order and gaps can be tested."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from keepstep.adapters.kube_objects import ObjectUid


class Kept(Protocol):
    """The least that a record must tell."""

    @property
    def uid(self) -> ObjectUid:
        """The object's uid."""

    @property
    def version(self) -> str:
        """Its resourceVersion."""


T = TypeVar("T", bound=Kept)


class How(StrEnum):
    """What happened to an object."""

    ADDED = "added"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One change. ``now`` of a GONE object is the last that was seen of it; ``seen`` is False when nobody saw it go."""

    how: How
    now: T
    before: T | None = None
    seen: bool = True


class Shelf(Generic[T]):
    """The objects by uid."""

    def __init__(self) -> None:
        self._items: dict[ObjectUid, T] = {}

    @property
    def items(self) -> Mapping[ObjectUid, T]:
        """All objects that exist, as far as is known."""
        return self._items

    def replace(self, listed: Iterable[T]) -> tuple[Change[T], ...]:
        """Take a whole list in and return what differs, objects that went unseen last."""
        fresh = {item.uid: item for item in listed}
        old, self._items = self._items, fresh
        changes: list[Change[T]] = []
        for uid, item in tuple(fresh.items()):
            before = old.get(uid)
            if before is None:
                changes.append(Change(How.ADDED, item))
            elif _older(before, item):
                changes.append(Change(How.CHANGED, item, before))
            else:
                fresh[uid] = before
        changes += (Change(How.GONE, before, before, seen=False) for uid, before in old.items() if uid not in fresh)
        return tuple(changes)

    def put(self, item: T) -> Change[T] | None:
        """Take in an object as it is now; None when that or a newer state is known."""
        before = self._items.get(item.uid)
        if before is not None and not _older(before, item):
            return None
        self._items[item.uid] = item
        return Change(How.ADDED, item) if before is None else Change(How.CHANGED, item, before)

    def learn(self, item: T) -> Change[T] | None:
        """Take in the answer to a write; of an object that is not held it may be older than its deletion."""
        return self.put(item) if item.uid in self._items else None

    def drop(self, item: T) -> Change[T] | None:
        """Take in that an object is gone; None when that is known."""
        before = self._items.pop(item.uid, None)
        return None if before is None else Change(How.GONE, item, before)


def _older(one: Kept, other: Kept) -> bool:
    """Return whether ``one`` was stored before ``other``; versions of one resource are numbers that grow."""
    return int(one.version) < int(other.version)
