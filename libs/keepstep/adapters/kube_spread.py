"""One resource in some namespaces, or in all: a cache each, looked at as one.

Where rights are given by namespace, a list of the whole cluster would be refused.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from keepstep.adapters.kube_cache import Cache, Rhythm
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_objects import ObjectUid
from keepstep.adapters.kube_resources import Resource
from keepstep.adapters.kube_shelf import Change, Kept

T = TypeVar("T", bound=Kept)

EVERYWHERE: Sequence[str] = ("",)
"""As the API's paths have it: no namespace is all of them."""


class Spread(Generic[T]):
    """The objects of one resource in these namespaces; ``follow`` must run for them to be current."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        project: Callable[[JsonObject], T],
        *,
        namespaces: Sequence[str] = (),
        selector: Mapping[str, str] | None = None,
        rhythm: Rhythm | None = None,
    ) -> None:
        """Without ``namespaces`` it is all of them."""
        self._caches = {
            name: Cache(client, resource, project, selector=selector, namespace=name, rhythm=rhythm)
            for name in namespaces or EVERYWHERE
        }

    def find(self, uid: ObjectUid) -> T | None:
        """Return the object of this uid."""
        return next((found for part in self._parts() if (found := part.items.get(uid)) is not None), None)

    def every(self) -> Iterator[T]:
        """Yield every object."""
        for part in self._parts():
            yield from part.items.values()

    @property
    def following(self) -> bool:
        """Whether all of them are being watched."""
        return all(part.following for part in self._parts())

    async def listed(self) -> None:
        """Return once the first list of each is in and was taken."""
        for part in self._parts():
            await part.listed()

    def learn(self, source: JsonObject) -> Change[T] | None:
        """Take in the answer to an own write, so that it can be read at once."""
        namespace = text(source, "metadata", "namespace")
        part = self._caches.get(namespace) or self._caches.get("")
        return None if part is None else part.learn(source)

    async def follow(self, take: Callable[[Change[T]], None]) -> None:
        """Hand on every change for ever, first all there is. Raises what is permanent, of one namespace or several."""
        following = [asyncio.ensure_future(_follow(part, take)) for part in self._parts()]
        try:
            done, _ = await asyncio.wait(following, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for one in following:
                one.cancel()
            await asyncio.gather(*following, return_exceptions=True)
        for one in done:
            one.result()

    def _parts(self) -> tuple[Cache[T], ...]:
        return tuple(self._caches.values())


async def _follow(cache: Cache[T], take: Callable[[Change[T]], None]) -> None:
    async for change in cache.changes():
        take(change)
