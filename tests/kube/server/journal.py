"""What changed, in order: told to listeners at once, and kept for watches up to a length."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from . import errors
from .kinds import Kind
from .objects import Obj


class EventType(StrEnum):
    """What a watch says of an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, eq=False, slots=True)
class Event:
    """One change; ``was`` is the object before it. Both are shared: read only."""

    type: EventType
    kind: Kind
    object: Obj
    was: Obj | None
    version: int


class Journal:
    """The changes of each kind, the last ``length`` of them, and who listens."""

    def __init__(self, length: int, first: int) -> None:
        self._length = length
        self._first = first
        self._kept: dict[Kind, deque[Event]] = {}
        self._compacted: dict[Kind, int] = {}
        self._listeners: list[Callable[[Event], None]] = []
        self._unsaid: deque[Event] = deque()

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call ``listener`` with each change from now on; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def since(self, kind: Kind, version: int) -> Sequence[Event]:
        """Return a kind's changes after ``version``. Raises ApiError 410 for one older than what is kept."""
        oldest = self._compacted.get(kind, self._first)
        if version < oldest:
            raise errors.expired(version, oldest)
        return [event for event in self._kept.get(kind, ()) if event.version > version]

    def compact(self, which: Iterable[Kind], version: int) -> None:
        """Forget the changes of some kinds up to ``version``."""
        for kind in which:
            self._kept.pop(kind, None)
            self._compacted[kind] = version

    def say(self, event: Event) -> None:
        """Keep the change and tell it; one that a listener makes is told to all after this one."""
        kept = self._kept.setdefault(event.kind, deque())
        kept.append(event)
        if len(kept) > self._length:
            self._compacted[event.kind] = kept.popleft().version
        self._unsaid.append(event)
        if len(self._unsaid) > 1:
            return
        while self._unsaid:
            for listener in tuple(self._listeners):
                listener(self._unsaid[0])
            self._unsaid.popleft()
