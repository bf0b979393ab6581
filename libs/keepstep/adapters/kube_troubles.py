"""The objects of a Kubernetes cluster that show troubles of nodes: one cache for each place they live in."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import replace

from keepstep.adapters.kube_cache import Cache, Hooks, Rhythm
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_devices import SYSTEM
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_mindcluster import HOSTS, shown_of
from keepstep.adapters.kube_resources import CONFIG_MAPS, NODES
from keepstep.adapters.kube_shelf import Change, How
from keepstep.adapters.kube_trouble import Noted, conditions_of
from keepstep.ports.troubles import Shown


class KubeTroubles:
    """Port Troubles over an API server."""

    def __init__(
        self,
        client: KubeClient,
        *,
        conditions: Collection[str],
        mindcluster: bool,
        hooks: Hooks | None = None,
        rhythm: Rhythm | None = None,
    ) -> None:
        """``conditions``: types of node conditions that are troubles. ``mindcluster``: read its ConfigMaps too."""
        self._client, self._conditions = client, frozenset(conditions)
        self._namespaces = (SYSTEM, HOSTS) if mindcluster else ()
        self._hooks, self._rhythm = hooks, rhythm

    async def follow(self, take: Callable[[Shown], Awaitable[None]]) -> None:
        """Hand over what each object shows, and each change of that; a heartbeat is none. Begins with all there is."""
        async with asyncio.TaskGroup() as group:
            for cache in self._opened():
                group.create_task(_follow(cache, take))

    def _opened(self) -> Iterator[Cache[Noted]]:
        """Yield caches that have seen nothing yet: what was seen before a pause may be over since."""

        def project(source: JsonObject) -> Noted:
            return conditions_of(source, named=self._conditions)

        yield Cache(self._client, NODES, project, hooks=self._hooks, rhythm=self._rhythm)
        for namespace in self._namespaces:
            yield Cache(
                self._client, CONFIG_MAPS, shown_of, namespace=namespace, hooks=self._hooks, rhythm=self._rhythm
            )


async def _follow(cache: Cache[Noted], take: Callable[[Shown], Awaitable[None]]) -> None:
    async for change in cache.changes():
        news = _news(change)
        if news is not None:
            await take(news)


def _news(change: Change[Noted]) -> Shown | None:
    """Return what an object shows after a change, None where that is what it showed before."""
    shown, before = change.now.shown, change.before.shown if change.before is not None else None
    if shown is None:
        return None
    if change.how is How.GONE:
        return replace(shown, troubles=(), refused="", gone=True)
    if before is not None and (before.troubles, before.refused) == (shown.troubles, shown.refused):
        return None
    return shown
