"""The sink that puts notices where people of a cluster look: Events on job, pod and node, and a job's closed incidents.

At a bounded rate: after an outage of the API server everything that waited comes at once.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from datetime import timedelta

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Missing, Refused
from keepstep.adapters.kube_event import counted, event_of
from keepstep.adapters.kube_history import history, history_name, record_of, recorded
from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid
from keepstep.adapters.kube_subjects import Subjects
from keepstep.ports.clock import Clock
from keepstep.ports.errors import Permanent
from keepstep.ports.sink import About, Notice

EVENTS_OF_OBJECT = 25
WINDOW = timedelta(minutes=10)
"""Events of one object in a window before they are combined by reason: client-go's own limits."""
OBJECTS = 4096
BETWEEN = timedelta(seconds=0.02)
"""50 writes a second are what one client may ask of an API server without being slowed down."""
CLOSED = "IncidentClosed"


class KubernetesSink:
    """Port Sink over an API server."""

    def __init__(
        self, client: KubeClient, clock: Clock, *, between: timedelta = BETWEEN, namespaces: Sequence[str] = ()
    ) -> None:
        """``namespaces`` are those that objects of jobs are looked for in; without any it is all of them."""
        self._client, self._clock, self._between = client, clock, between
        self._subjects = Subjects(client, clock, namespaces=namespaces)
        self._told: OrderedDict[ObjectUid, deque[float]] = OrderedDict()
        self._turn = asyncio.Lock()

    async def deliver(self, notice: Notice) -> None:
        """Tell every object that it concerns; one that is gone is told nothing. The same notice again counts once."""
        about = notice.about
        if about is None:
            raise Permanent("no route may name the sink kubernetes: it is told every step without one")
        for ref in await self._subjects.of(about):
            async with self._turn:
                await self._tell(ref, notice, about)
                await asyncio.sleep(self._between.total_seconds())
        job = None if about.job is None or about.reason != CLOSED else await self._subjects.job(about.job)
        if job is not None:
            await self._record(job, notice, about)

    async def _tell(self, ref: ObjectRef, notice: Notice, about: About) -> None:
        event = event_of(ref, notice, about, crowded=False)
        if self._crowded(ref):
            if await self._count(event):
                return
            event = event_of(ref, notice, about, crowded=True)
        await self._make(event, why=f"tell {ref} of {about.reason}")
        self._note(ref)

    async def _make(self, event: JsonObject, *, why: str) -> None:
        """Create the Event, or count it where one of its name is there."""
        try:
            await self._client.create(text(event, "metadata", "namespace"), event, why=why)
        except Refused:
            if not await self._count(event):
                raise

    async def _count(self, event: JsonObject) -> bool:
        """Count the Event where it exists; return whether it does."""
        namespace, name = text(event, "metadata", "namespace"), text(event, "metadata", "name")
        ref = ObjectRef("v1", "Event", namespace, name, ObjectUid(""))
        try:
            await self._client.edit(ref, lambda found: counted(found, event), why=f"count {name}")
        except Missing:
            return False
        return True

    async def _record(self, job: ObjectRef, notice: Notice, about: About) -> None:
        record = record_of(notice, about)
        ref = ObjectRef("v1", "ConfigMap", job.namespace, history_name(job), ObjectUid(""))
        why = f"record an incident of {job}"
        try:
            await self._client.edit(ref, lambda found: recorded(found, job, record), why=why)
        except Missing:
            await self._client.create(job.namespace, history(job, record), why=why)
        except Refused as error:
            remedy = f"incidents are kept in namespaces that allow it: kubectl apply -n {job.namespace} -k k8s/jobs"
            raise Permanent(f"{error}; {remedy}") from error

    def _crowded(self, ref: ObjectRef) -> bool:
        times = self._told.get(ref.uid, deque[float]())
        since = self._clock.monotonic() - WINDOW.total_seconds()
        return sum(when > since for when in times) >= EVENTS_OF_OBJECT

    def _note(self, ref: ObjectRef) -> None:
        self._told.setdefault(ref.uid, deque(maxlen=EVENTS_OF_OBJECT)).append(self._clock.monotonic())
        self._told.move_to_end(ref.uid)
        while len(self._told) > OBJECTS:
            self._told.popitem(last=False)
