"""Watches: JSON lines that begin at a version, with bookmarks, 410 inside a 200, and an end."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping

import orjson

from .errors import ApiError
from .kinds import POD, Kind
from .objects import Obj
from .routes import Target
from .selectors import Test, by_fields, by_labels
from .store import Event, EventType, Store

_INITIAL_END = {"k8s.io/initial-events-end": "true"}
_BATCH = 500


class Watches:
    """All streams that are open; each event is encoded once, whoever reads it."""

    def __init__(self, store: Store, *, bookmark_seconds: float, buffer: int = 20_000) -> None:
        self._store = store
        self._bookmark_seconds = bookmark_seconds
        self._buffer = buffer
        self._open: dict[Kind, set[Stream]] = {}
        store.listen(self._hear)

    def close_all(self) -> None:
        """End every stream, as a server that restarts or a load balancer that drops."""
        for streams in self._open.values():
            for stream in streams:
                stream.close()

    def count(self) -> int:
        """Return how many streams are open."""
        return sum(map(len, self._open.values()))

    async def lines(self, target: Target, query: Mapping[str, str], seconds: float) -> AsyncIterator[bytes]:
        """Yield the stream's bytes. Refusals that a watch gives in-band (410) are lines too."""
        stream = Stream(self._store, target, query, buffer=self._buffer)
        try:
            stream.begin()
        except ApiError as refused:
            yield orjson.dumps({"type": "ERROR", "object": refused.status}) + b"\n"
            return
        streams = self._open.setdefault(target.kind, set())
        streams.add(stream)
        try:
            async for chunk in stream.run(seconds, self._bookmark_seconds):
                yield chunk
        finally:
            streams.discard(stream)

    def _hear(self, event: Event) -> None:
        encoded: dict[EventType, bytes] = {}
        for stream in self._open.get(event.kind, ()):
            stream.offer(event, encoded)


class Stream:
    """One watch: what it takes and what it has yet to send."""

    def __init__(self, store: Store, target: Target, query: Mapping[str, str], *, buffer: int) -> None:
        self._store = store
        self._target = target
        self._asked = query.get("resourceVersion") or ""
        self._bookmarks = query.get("allowWatchBookmarks") == "true"
        self._initial = query.get("sendInitialEvents") == "true"
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        if target.name:
            fields = ",".join(filter(None, [fields, f"metadata.name={target.name}"]))
        self._take: Test = by_labels(labels)
        self._fit: Test = by_fields(fields)
        self._selects = bool(labels or fields)
        self._lines: deque[bytes] = deque()
        self._buffer = buffer
        self._more = asyncio.Event()
        self._closed = False
        self._past = 0

    def begin(self) -> None:
        """Queue what comes first. Raises ApiError 410."""
        if self._asked in {"", "0"} or self._initial:
            for obj in self._store.scan(self._target.kind, self._target.namespace):
                if self._takes(obj):
                    self._lines.append(_line(EventType.ADDED, obj))
            if self._initial and self._bookmarks:
                self._lines.append(self._bookmark(_INITIAL_END))
            return
        asked = int(self._asked)
        self._past = max(asked - self._store.version, 0) and asked
        if not self._past:
            for event in self._store.since(self._target.kind, asked):
                self._queue(event, {})

    def offer(self, event: Event, encoded: dict[EventType, bytes]) -> None:
        """Take an event if it is for this stream; a reader that is too slow is cut off."""
        if event.version <= self._past:
            return
        self._queue(event, encoded)
        if len(self._lines) > self._buffer:
            self.close()
        self._more.set()

    def close(self) -> None:
        """End the stream soon."""
        self._closed = True
        self._more.set()

    async def run(self, seconds: float, bookmark_seconds: float) -> AsyncIterator[bytes]:
        """Yield bytes until the time is over; a bookmark comes at intervals and before the end."""
        loop = asyncio.get_running_loop()
        end, bookmark = loop.time() + seconds, loop.time() + bookmark_seconds
        while not self._closed:
            while self._lines:
                yield b"".join(self._lines.popleft() for _ in range(min(_BATCH, len(self._lines))))
            wake = min(end, bookmark)
            try:
                async with asyncio.timeout_at(wake):
                    await self._more.wait()
            except TimeoutError:
                bookmark = loop.time() + bookmark_seconds
                if self._bookmarks and not self._past:
                    yield self._bookmark({})
            self._more.clear()
            if loop.time() >= end:
                return

    def _queue(self, event: Event, encoded: dict[EventType, bytes]) -> None:
        kind = self._seen_as(event)
        if kind is None:
            return
        if kind not in encoded:
            encoded[kind] = _line(kind, event.object)
        self._lines.append(encoded[kind])

    def _seen_as(self, event: Event) -> EventType | None:
        """An object that comes to match is added for this reader, one that ceases to is deleted."""
        namespace = self._target.namespace
        if namespace is not None and event.object["metadata"].get("namespace") != namespace:
            return None
        if not self._selects:
            return event.type
        before = event.was is not None and self._takes(event.was)
        after = event.type is not EventType.DELETED and self._takes(event.object)
        match (before, after):
            case (True, True):
                return EventType.MODIFIED
            case (False, True):
                return EventType.ADDED
            case (True, False):
                return EventType.DELETED
            case _:
                return None

    def _takes(self, obj: Obj) -> bool:
        return not self._selects or (self._take(obj) and self._fit(obj))

    def _bookmark(self, annotations: dict[str, str]) -> bytes:
        kind = self._target.kind
        meta: Obj = {"resourceVersion": str(self._store.version), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        rest: Obj = {"spec": {"containers": None}, "status": {}} if kind is POD else {}
        obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta, **rest}
        return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"


def _line(kind: EventType, obj: Obj) -> bytes:
    return orjson.dumps({"type": kind, "object": obj}) + b"\n"
