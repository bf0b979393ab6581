"""A cache of one resource: lists, watches, resumes, and lists again after a gap, so that no deletion is missed.

What is kept are projections of the objects; a page or an event is thrown away once it is projected.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Expired, refusal
from keepstep.adapters.kube_json import JsonObject, number, rows, table, text
from keepstep.adapters.kube_objects import ObjectUid
from keepstep.adapters.kube_resources import Resource
from keepstep.adapters.kube_shelf import Change, Shelf, T
from keepstep.adapters.turns import in_turns
from keepstep.ports.errors import Transient

PAGE = 500
"""Objects of a page: 2.5 MB of pods, what client-go asks for."""
WATCH_S = 300
"""A watch ends by itself after this and half as much again, so that watches of many replicas do not end together."""
FIRST_PAUSE = timedelta(seconds=0.5)
LONGEST_PAUSE = timedelta(seconds=10)
"""An API server that comes back must not be met by everybody at once: some 30 caches in 5 to 10 s is nothing to it. A
restart goes on only once they see, so no longer than everything else of ours waits after an outage (``Pace``)."""


HEARD = timedelta(seconds=1)
"""Between a list and its watch, and between two watches, is a round trip; a second is an outage."""

_ENDED = Transient("the watch ended in order", retry_after=timedelta(0))


async def _sleep(pause: timedelta) -> None:
    await asyncio.sleep(pause.total_seconds())  # a server that is away or throttles says nothing to wait on


async def heard(met: Callable[[], bool]) -> None:
    """Return once what is asked for is being followed; raises Transient when it is not for a second."""
    try:
        async with asyncio.timeout(HEARD.total_seconds()):
            while not met():  # noqa: ASYNC110 - a cache has no such event
                await asyncio.sleep(HEARD.total_seconds() / 50)  # often enough: a round trip or an outage
    except TimeoutError as silent:
        raise Transient("the API server is not heard now") from silent


@dataclass(frozen=True)
class Hooks:
    """What a cache tells its metrics; each is called with the resource's plural."""

    listed: Callable[[str, int], None] = lambda _resource, _count: None
    changed: Callable[[str], None] = lambda _resource: None
    broke: Callable[[str, str], None] = lambda _resource, _why: None


@dataclass(frozen=True)
class Rhythm:
    """How a cache waits between tries; tests replace both."""

    sleep: Callable[[timedelta], Awaitable[None]] = _sleep
    jitter: Callable[[], float] = field(default=random.random)
    """0 to 1."""

    def pause(self, failures: int, asked: timedelta) -> timedelta:
        """Return the pause after so many failures in a row: doubled, half of it by chance, at least what was asked."""
        whole = min(FIRST_PAUSE * (1 << min(failures - 1, 10)), LONGEST_PAUSE)
        return max(asked, whole * (0.5 + self.jitter() / 2))


class Cache(Generic[T]):
    """The objects of one resource as they are now; somebody must consume ``changes`` for it to follow."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        project: Callable[[JsonObject], T],
        *,
        selector: Mapping[str, str] | None = None,
        namespace: str = "",
        hooks: Hooks | None = None,
        rhythm: Rhythm | None = None,
    ) -> None:
        """``selector``: labelSelector and fieldSelector, where not everything is wanted; "" is every namespace."""
        self._client, self._resource, self._project = client, resource, project
        self._namespace = namespace
        self._selector = dict(selector or {})
        self._hooks, self._rhythm = hooks or Hooks(), rhythm or Rhythm()
        self._shelf: Shelf[T] = Shelf()
        self._version = ""
        self._untold: deque[Change[T]] = deque()
        """What a list brought and nobody took yet: whoever takes over from a follower that was stopped gets it."""
        self._listed = asyncio.Event()
        self._following = False

    @property
    def items(self) -> Mapping[ObjectUid, T]:
        """Every object by uid; stale while ``following`` is False."""
        return self._shelf.items

    @property
    def following(self) -> bool:
        """Whether a watch is open or ended in order: for readiness."""
        return self._following

    async def listed(self) -> None:
        """Return once the first list is in, and whoever consumes ``changes`` was given all of it."""
        await self._listed.wait()

    def learn(self, source: JsonObject) -> Change[T] | None:
        """Take in the answer to an own write, so that it can be read at once."""
        return self._shelf.learn(self._project(source))

    async def changes(self) -> AsyncIterator[Change[T]]:
        """Yield every change for ever, first all there is. Waits out what is transient; raises what is permanent."""
        try:
            async with aclosing(self._changes()) as changes:
                async for change in changes:
                    yield change
        finally:
            self._following = False

    async def _changes(self) -> AsyncGenerator[Change[T]]:
        failures = 0
        while True:
            failure = Transient("the watch ended at once", retry_after=timedelta(0))
            try:
                if not self._version:
                    self._untold = deque(await self._list())
                async for listed in in_turns(self._telling()):
                    yield listed
                self._listed.set()
                async for change in self._watch():
                    failures = 0
                    if change is not None:
                        yield change
                    failure = _ENDED
            except Transient as broken:
                failure = broken
                self._following = False
                self._hooks.broke(self._resource.plural, type(broken).__name__)
            if isinstance(failure, Expired):
                self._version = ""
            if failure is not _ENDED:
                failures += 1
                # So that a server which comes back is not met by everybody at once.
                await self._rhythm.sleep(self._rhythm.pause(failures, failure.retry_after))

    def _telling(self) -> Iterator[Change[T]]:
        """Yield what a list brought; each counts as told when the next is asked for."""
        while self._untold:
            yield self._untold[0]
            self._untold.popleft()

    async def _list(self) -> tuple[Change[T], ...]:
        """List page by page; a page that expired half-way begins the list anew by raising Expired."""
        found: list[T] = []
        params = {**self._selector, "limit": str(PAGE)}
        while True:
            page = await self._client.page(self._resource, params, namespace=self._namespace)
            found += map(self._project, rows(page, "items"))
            token = text(page, "metadata", "continue")
            if not token:
                break
            params["continue"] = token
        self._version = text(page, "metadata", "resourceVersion")
        changes = self._shelf.replace(found)
        self._hooks.listed(self._resource.plural, len(found))
        return changes

    async def _watch(self) -> AsyncIterator[Change[T] | None]:
        """Watch from the last version until the server ends it; yields None for a bookmark."""
        params = {
            **self._selector,
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(round(WATCH_S * (1 + self._rhythm.jitter() / 2))),
        }
        async with self._client.watch(self._resource, params, namespace=self._namespace) as events:
            self._following = True
            async for event in events:
                yield self._taken(text(event, "type"), table(event, "object"))

    def _taken(self, kind: str, source: JsonObject) -> Change[T] | None:
        if kind == "ERROR":
            code = number(source, "code", default=500)
            raise refusal(f"watch of {self._resource.plural}", code, text(source, "message").encode(), {})
        version = text(source, "metadata", "resourceVersion")
        change: Change[T] | None = None
        if kind in ("ADDED", "MODIFIED"):
            change = self._shelf.put(self._project(source))
        elif kind == "DELETED":
            change = self._shelf.drop(self._project(source))
        self._version = version
        if change is not None:
            self._hooks.changed(self._resource.plural)
        return change
