"""The jobs of a Kubernetes cluster as the port Controllers: found by annotation, restarted as their kind allows."""

from collections.abc import AsyncIterator

from keepstep.adapters.kube_adopt import asked, deleted, sighted
from keepstep.adapters.kube_binding import task_of
from keepstep.adapters.kube_ending import ending
from keepstep.adapters.kube_job_object import JobObject
from keepstep.adapters.kube_loss import proven_dead
from keepstep.adapters.kube_observe import Seen
from keepstep.adapters.kube_plan import Create
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_restart import Restarts
from keepstep.adapters.kube_shelf import How
from keepstep.adapters.kube_sight import AnyChange, Sight
from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.ports.controllers import Found, RestartOrder, RestartReport, Sighting


class KubeControllers:
    """Port Controllers over what ``sight`` sees."""

    def __init__(self, sight: Sight, restarts: Restarts) -> None:
        self._sight, self._restarts = sight, restarts

    async def jobs(self) -> tuple[Sighting, ...]:
        """Return what every job object says that asks for keepstep."""
        await self._sight.ready()
        return self._all()

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
                news = self._meant(await changes.get())
                if news is None or said.get(news.job.uid) == news:
                    continue
                said[news.job.uid] = news
                yield news
        finally:
            self._sight.deafen(changes)

    async def restart(self, order: RestartOrder) -> RestartReport:
        """Do what is due of the restart. Raises Transient, NoRoom, LevelRefused."""
        await self._sight.ready()
        seen = await self._restarts.pursue(order)
        there = {task_of(pod): pod for pod in self._sight.pods(order.job)}
        ends = {task: self._gone(task, there.get(task)) for task in order.lost}
        gone = {task: proven for task, proven in ends.items() if proven is not None}
        return RestartReport(seen.because, gone, done=seen.seen is Seen.DONE)

    async def end(self, job: JobUid, *, succeeded: bool) -> None:
        """Suspend or abort a job whose controller would start its pods again."""
        await self._sight.ready()
        top = self._sight.job(job)
        if top is None or succeeded:
            return
        match ending(self._sight.view(top)):
            case None:
                return
            case Create(namespace=namespace, body=body, why=why):
                await self._sight.client.create(namespace, body, why=why)
            case patch:
                await self._sight.edit(top.ref, lambda _: patch.body, why=patch.why)

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
        top = self._sight.families.top_of(change.now.owner.uid if change.now.owner else change.now.uid)
        return self._said(top) if top is not None and asked(top.source) else None

    def _gone(self, task: TaskUid, pod: Pod | None) -> bool | None:
        """Return whether the end of a task is proven, None while a pod holds it."""
        if pod is None:
            known = self._sight.ended.get(task)
            return known is not None and known.proven
        return None if not pod.over else proven_dead(pod, gone=False, node=self._sight.node_of(pod))
