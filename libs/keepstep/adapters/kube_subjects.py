"""Finds the objects that people look at: a job's own, a task's pod, a node. Asked rarely, so nothing is watched."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import timedelta

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_listing import listed
from keepstep.adapters.kube_marks import JOB_LABEL, TASK
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid
from keepstep.adapters.kube_resources import NODES, PODS, Resource
from keepstep.adapters.kube_spread import EVERYWHERE
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.topology import JobRef
from keepstep.ports.clock import Clock
from keepstep.ports.sink import About

KNOWN = 65_536
"""Jobs and pods remembered, some 20 MiB of them; one that is forgotten is looked for again."""
LOOK_EVERY = timedelta(seconds=10)
"""A job's pods are listed no more often: they may be thousands, and a pod that is gone would be looked for again."""


class Subjects:
    """Looks objects up and remembers where they were. Raises the errors of the client."""

    def __init__(self, client: KubeClient, clock: Clock, *, namespaces: Sequence[str] = ()) -> None:
        """``namespaces`` as of ``Spread``."""
        self._client, self._clock, self._namespaces = client, clock, namespaces or EVERYWHERE
        self._known: OrderedDict[str, ObjectRef] = OrderedDict()
        self._looked: OrderedDict[JobUid, float] = OrderedDict()

    async def job(self, job: JobRef) -> ObjectRef | None:
        """Return the job's object, also for a while after it is gone; None for one that nobody has seen."""
        if job.uid not in self._known:
            for kind in KINDS.values():
                async for found in self._labelled(kind.resource, job.name):
                    self._remember(text(found, "metadata", "uid"), _ref(found, kind.resource))
        return self._known.get(job.uid)

    async def of(self, about: About) -> tuple[ObjectRef, ...]:
        """Return every object that is to be told."""
        found = [None if about.job is None else await self.job(about.job)]
        if about.job is not None:
            found += [await self._pod(about.job, task) for task in about.tasks]
        if about.node is not None:
            found.append(await self._node(about.node))
        return tuple(one for one in found if one is not None)

    async def _pod(self, job: JobRef, task: TaskUid) -> ObjectRef | None:
        if task not in self._known and self._may_look(job.uid):
            async for found in self._labelled(PODS, job.name):
                bound = text(found, "metadata", "annotations", TASK)
                if bound:
                    self._remember(bound, _ref(found, PODS))
        return self._known.get(task)

    async def _node(self, node: NodeName) -> ObjectRef | None:
        try:
            found = await self._client.get(ObjectRef("v1", "Node", "", node, ObjectUid("")))
        except Missing:
            return None
        return _ref(found, NODES)

    async def _labelled(self, resource: Resource, job: str) -> AsyncIterator[JsonObject]:
        for namespace in self._namespaces:
            with suppress(Missing):  # a kind that this cluster does not have
                asked = {"labelSelector": f"{JOB_LABEL}={job}"}
                async for found in listed(self._client, resource, asked, namespace=namespace, only_metadata=True):
                    yield found

    def _may_look(self, job: JobUid) -> bool:
        now, last = self._clock.monotonic(), self._looked.get(job)
        if last is not None and now - last < LOOK_EVERY.total_seconds():
            return False
        self._looked[job] = now
        self._looked.move_to_end(job)
        while len(self._looked) > KNOWN:
            self._looked.popitem(last=False)
        return True

    def _remember(self, key: str, ref: ObjectRef) -> None:
        self._known[key] = ref
        self._known.move_to_end(key)
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)


def _ref(found: JsonObject, of: Resource) -> ObjectRef:
    """Return the reference to an object of a list, whose items name no kind."""
    meta = ("namespace", "name", "uid")
    namespace, name, uid = (text(found, "metadata", part) for part in meta)
    return ObjectRef(of.api, of.kind, namespace, name, ObjectUid(uid))
