"""The job objects of all five kinds: each kind is followed for itself, so that one that is out of order stops no other.

A kind that cannot be seen is not one without jobs: whoever asks is told which those are.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta

from keepstep.adapters.kube_cache import Rhythm
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Missing, Refused
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_job_object import JobObject, job_object
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_kinds import KINDS, kind_at
from keepstep.adapters.kube_objects import ObjectRef
from keepstep.adapters.kube_shelf import Change
from keepstep.adapters.kube_spread import Spread

ABSENT_EVERY = timedelta(seconds=30)
"""Between looks for a kind that the server does not have or does not show: operators are installed later, too."""


class JobCaches:
    """One cache for each kind."""

    def __init__(self, client: KubeClient, *, namespaces: Sequence[str] = (), rhythm: Rhythm | None = None) -> None:
        """``namespaces`` as of ``Spread``."""
        self._caches = {
            kind.name: Spread(client, kind.resource, job_object(kind), namespaces=namespaces, rhythm=rhythm)
            for kind in KINDS.values()
        }
        self._absent: dict[JobKind, Missing | Refused] = {}

    async def follow(self, kind: JobKind, take: Callable[[Change[JobObject]], None]) -> None:
        """Follow one kind's jobs; where the server has none of the kind, or shows none, look again now and then."""
        while True:
            try:
                await self._caches[kind].follow(take)
            except (Missing, Refused) as absent:
                self._absent[kind] = absent
            await asyncio.sleep(ABSENT_EVERY.total_seconds())  # no watch tells that a kind was installed or allowed
            self._absent.pop(kind, None)

    def learn(self, ref: ObjectRef, answer: JsonObject) -> Change[JobObject] | None:
        """Take in the answer to an own write into a job object."""
        kind = kind_at(ref.api, ref.kind)
        return None if kind is None else self._caches[kind.name].learn(answer)

    def seen(self, kind: JobKind) -> bool:
        """Return whether every job of the kind is known now."""
        return self._caches[kind].following

    def answered(self, kind: JobKind) -> bool:
        """Return whether the jobs of the kind are known, or the server refuses to tell them."""
        return self.seen(kind) or kind in self._absent

    def hidden(self, kind: JobKind) -> bool:
        """Return whether there may be jobs of the kind that nobody sees, as far as the server's answer tells."""
        return not self.seen(kind) and not isinstance(self._absent.get(kind), Missing)

    def unseen(self) -> frozenset[str]:
        """Return the kinds whose jobs are not all known, as people name them.

        Volcano's is called as that of every cluster: where it is not installed, that makes nobody doubt the other.
        """
        words = {kind.name: kind.resource.kind for kind in KINDS.values()}
        shared = {word for word, kinds in Counter(words.values()).items() if kinds > 1}
        return frozenset(
            word for kind, word in words.items() if (self.hidden(kind) if word in shared else not self.seen(kind))
        )
