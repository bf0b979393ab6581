"""The jobs of a Kubernetes cluster as the port Controllers: found by annotation, restarted as their kind allows."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta

from keepstep.adapters.kube_adopt import asked, deleted, sighted
from keepstep.adapters.kube_binding import bound, task_of
from keepstep.adapters.kube_ending import ending
from keepstep.adapters.kube_job_object import JobObject
from keepstep.adapters.kube_json import JsonObject, instant, text
from keepstep.adapters.kube_loss import proven_dead
from keepstep.adapters.kube_marks import ENDING
from keepstep.adapters.kube_objects import ObjectUid
from keepstep.adapters.kube_observe import CONFIRM, Seen
from keepstep.adapters.kube_plan import Create, Patch
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_restart import Restarts
from keepstep.adapters.kube_shelf import How
from keepstep.adapters.kube_sight import AnyChange, Sight
from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.ports.controllers import Found, Listing, RestartOrder, RestartReport, Sighting
from keepstep.ports.errors import Conflict

LINGER = timedelta(seconds=10)
"""For the launchers of a job that failed to end by themselves, so that its own controller calls it failed."""


class KubeControllers:
    """Port Controllers over what ``sight`` sees."""

    def __init__(self, sight: Sight, restarts: Restarts, *, now: Callable[[], datetime]) -> None:
        self._sight, self._restarts, self._now = sight, restarts, now
        self._lingers: dict[ObjectUid, datetime] = {}
        """Since when jobs that are over are kept down."""

    async def jobs(self) -> Listing:
        """Return the job objects that ask for keepstep, and the kinds that may have more. Raises Transient."""
        await self._sight.ready()
        shown = frozenset(JobUid(top.uid) for top in self._sight.tops())
        return Listing(shown | self._sight.unseen(), self._sight.kinds.unseen())

    async def sightings(self) -> AsyncIterator[Sighting]:
        """Yield every job, then each change that says something new."""
        changes = self._sight.listen()
        said: dict[JobUid, Sighting] = {}
        try:
            await self._sight.opened()
            for sighting in self._all():
                said[sighting.job.uid] = sighting
                yield sighting
            while True:
                change = await changes.get()
                news = self._meant(change)
                if news is not None and said.get(news.job.uid) != news:
                    said[news.job.uid] = news
                    yield news
                if change.how is How.GONE:
                    said.pop(JobUid(change.now.uid), None)
                    self._lingers.pop(change.now.uid, None)
        finally:
            self._sight.deafen(changes)

    async def restart(self, order: RestartOrder) -> RestartReport:
        """Do what is due of the restart. Raises Transient, NoRoom, LevelRefused."""
        await self._sight.know(order.job)
        seen = await self._restarts.pursue(order)
        gone = self._gone_of(order.job, order.lost)
        return RestartReport(seen.because, gone, done=seen.seen is Seen.DONE)

    async def end(self, job: JobUid, tasks: frozenset[TaskUid], *, succeeded: bool) -> Mapping[TaskUid, bool]:
        """Suspend or abort a job whose controller would start its pods again. Raises Transient."""
        top = await self._sight.know(job)
        if top is not None and not succeeded:
            await self._keep_down(top)
        return self._gone_of(job, tasks)

    async def _keep_down(self, top: JobObject) -> None:
        lingers = self._lingers.setdefault(top.uid, self._now()) + LINGER <= self._now()
        match ending(self._sight.view(top), lingers=lingers or self._has_idle(top)):
            case None:
                return
            case Create() as command:
                await self._send_once(top, command)
            case Patch(target=target, body=body, why=why):
                await self._sight.edit(target, lambda _: body, why=why)

    def _has_idle(self, top: JobObject) -> bool:
        """Return whether a pod of the job has no task: nobody would ever tell its launcher to end."""
        return any(pod.live and task_of(pod) is None for pod in self._sight.pods(JobUid(top.uid)))

    async def _send_once(self, top: JobObject, command: Create) -> None:
        """Note on the job that the command goes out, then send it; again only when it must have been lost."""
        before = text(top.source, "metadata", "annotations", ENDING)
        sent = instant(top.source, "metadata", "annotations", ENDING)
        if sent is not None and self._now() - sent < CONFIRM:
            return
        note = {"metadata": {"annotations": {ENDING: self._now().isoformat()}}}

        def change(source: JsonObject) -> JsonObject:
            if text(source, "metadata", "annotations", ENDING) != before:
                raise Conflict(f"somebody else ends {top.ref}")
            return note

        await self._sight.edit(top.ref, change, why=command.why)
        await self._sight.client.create(command.namespace, command.body, why=command.why)

    def _all(self) -> tuple[Sighting, ...]:
        return tuple(said for top in self._sight.tops() if (said := self._said(top)) is not None)

    def _said(self, top: JobObject) -> Sighting | None:
        """Return what a job says; what it can take is not read while a restart of keepstep's is under way."""
        said = sighted(top.source, self._sight.view(top), self._sight.seats(top))
        record = self._restarts.recorded(JobUid(top.uid))
        busy = record is not None and not record.written
        return None if busy and isinstance(said, Found) else said

    def _meant(self, change: AnyChange) -> Sighting | None:
        """Return what a change of a job, or of an object below one, says of the job."""
        if not isinstance(change.now, JobObject):
            return None
        if change.how is How.GONE and asked(change.now.source):
            return deleted(self._sight.view(change.now))
        top = self._sight.families.top_over(change.now)
        return self._said(top) if top is not None and asked(top.source) and self._sight.families.is_top(top) else None

    def _gone_of(self, job: JobUid, tasks: frozenset[TaskUid]) -> dict[TaskUid, bool]:
        """Return which tasks no pod holds any more, and whether their ends are proven."""
        there = bound(self._sight.pods(job))
        ends = {task: self._gone(task, there.get(task)) for task in tasks}
        return {task: proven for task, proven in ends.items() if proven is not None}

    def _gone(self, task: TaskUid, pod: Pod | None) -> bool | None:
        """Return whether the end of a task is proven, None while a pod holds it."""
        if pod is None:
            known = self._sight.ended.get(task)
            return known is not None and known.proven
        return None if not pod.over else proven_dead(pod, gone=False, node=self._sight.node_of(pod))
