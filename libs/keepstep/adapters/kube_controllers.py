"""The jobs of a Kubernetes cluster as the port Controllers: found by annotation, restarted as their kind allows."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from keepstep.adapters.kube_adopt import asked, deleted, sighted
from keepstep.adapters.kube_binding import bound, task_of
from keepstep.adapters.kube_ending import ending
from keepstep.adapters.kube_job_object import JobObject
from keepstep.adapters.kube_json import JsonObject, instant, text
from keepstep.adapters.kube_loss import proven_dead
from keepstep.adapters.kube_marks import ENDING, REFUSED
from keepstep.adapters.kube_objects import ObjectUid
from keepstep.adapters.kube_observe import CONFIRM, Seen
from keepstep.adapters.kube_plan import Create, Patch
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_restart import Restarts
from keepstep.adapters.kube_shelf import How
from keepstep.adapters.kube_sight import AnyChange, Sight
from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.ports.controllers import Found, Listing, RestartOrder, RestartReport, Sighting, Suspended
from keepstep.ports.errors import Conflict, Transient

_NOTES = ("metadata", "annotations")
LINGER = timedelta(seconds=10)
"""For the launchers of a job that failed to end by themselves, so that its own controller calls it failed."""


class JobChanges:
    """Port Changes over a queue of what is seen."""

    def __init__(self, seen: "asyncio.Queue[AnyChange]") -> None:
        self._seen = seen

    async def any(self, *, within: timedelta) -> bool:
        """Return True once there was a change since the last call, False when there was none in that time."""
        try:
            async with asyncio.timeout(within.total_seconds()):
                await self._seen.get()
        except TimeoutError:
            return False
        while not self._seen.empty():
            self._seen.get_nowait()
        return True


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
        waits = seen.because if seen.told else ""
        return RestartReport(seen.because, gone, done=seen.seen is Seen.DONE, waits=waits)

    @contextmanager
    def watching(self, job: JobUid) -> Iterator[JobChanges]:
        """Hear for the block what changes of a job or its pods, keepstep's own writes too."""
        seen = self._sight.listen(job)
        try:
            yield JobChanges(seen)
        finally:
            self._sight.deafen(seen)

    async def end(
        self, job: JobUid, tasks: frozenset[TaskUid], *, succeeded: bool, refused: bool = False
    ) -> Mapping[TaskUid, bool]:
        """Suspend or abort a job whose controller would start its pods again. Raises Transient."""
        top = await self._sight.know(job)
        if top is not None and not succeeded:
            lingers = not tasks or self._lingering(top.uid) or self._has_idle(top)
            await self._keep_down(top, REFUSED if refused else ENDING, lingers=lingers)
        if top is not None and not (tasks or succeeded):
            self._see_down(job)
        return self._gone_of(job, tasks)

    def _lingering(self, job: ObjectUid) -> bool:
        return self._lingers.setdefault(job, self._now()) + LINGER <= self._now()

    async def _keep_down(self, top: JobObject, mark: str, *, lingers: bool) -> None:
        """Put the job down unless its own rules do, and note on it that keepstep did: it may be resumed later."""
        view = self._sight.view(top)
        match ending(view, lingers=lingers):
            case None if view.stopped and mark is ENDING and not _noted(top.source, mark):
                note = self._note(mark)
                await self._sight.edit(top.ref, lambda _: note, why="keepstep ended the job while it was down")
            case None:
                return
            case Create() as command:
                await self._send_once(top, command, mark)
            case Patch(target=target, body=body, why=why):
                await self._sight.edit(target, lambda _: {**body, **self._note(mark)}, why=why)

    def _note(self, mark: str) -> JsonObject:
        return {"metadata": {"annotations": {mark: self._now().isoformat()}}}

    def _see_down(self, job: JobUid) -> None:
        """Raise Transient while a job without tasks may still make pods."""
        top = self._sight.job(job)
        if top is not None and ending(self._sight.view(top), lingers=True) is not None:
            raise Transient(f"{top.ref} is not down yet", retry_after=timedelta(seconds=1))

    def _has_idle(self, top: JobObject) -> bool:
        """Return whether a pod of the job has no task: nobody would ever tell its launcher to end."""
        return any(pod.live and task_of(pod) is None for pod in self._sight.pods(JobUid(top.uid)))

    async def _send_once(self, top: JobObject, command: Create, mark: str) -> None:
        """Note on the job that the command goes out, then send it; again only when it must have been lost."""
        before = _noted(top.source, mark)
        sent = instant(top.source, *_NOTES, mark)
        if sent is not None and self._now() - sent < CONFIRM:
            return

        def change(source: JsonObject) -> JsonObject:
            if _noted(source, mark) != before:
                raise Conflict(f"somebody else ends {top.ref}")
            return self._note(mark)

        await self._sight.edit(top.ref, change, why=command.why)
        await self._sight.client.create(command.namespace, command.body, why=command.why)

    def _all(self) -> tuple[Sighting, ...]:
        return tuple(said for top in self._sight.tops() if (said := self._said(top)) is not None)

    def _said(self, top: JobObject) -> Sighting | None:
        """Return what a job says; what it can take is not read while a restart of keepstep's is under way."""
        view = self._sight.view(top)
        said = sighted(top.source, view, self._sight.seats(top))
        record = self._restarts.recorded(JobUid(top.uid))
        if record is None or record.written or record.yielded or not isinstance(said, Found | Suspended):
            return said
        overruled = record.plan.resumes(record.step) is not None and not view.suspended
        return replace(said, resumed=True) if overruled and isinstance(said, Found) else None

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


def _noted(source: JsonObject, mark: str) -> str:
    return text(source, *_NOTES, mark)
