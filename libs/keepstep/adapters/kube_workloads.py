"""The tasks of a Kubernetes cluster as the port Workloads: pods are their controllers', and bound to tasks here."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from keepstep.adapters.kube_binding import Binding, Short, bind, marks_of, task_of
from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_job_object import JobObject
from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_listing import listed
from keepstep.adapters.kube_loss import event_of
from keepstep.adapters.kube_marks import TASK
from keepstep.adapters.kube_node import Node
from keepstep.adapters.kube_objects import ObjectUid
from keepstep.adapters.kube_plan import pod_ref
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_resources import EVENTS
from keepstep.adapters.kube_restart import Restarts
from keepstep.adapters.kube_shelf import How
from keepstep.adapters.kube_sight import AnyChange, Sight
from keepstep.adapters.kube_tasks import status_of
from keepstep.adapters.turns import in_turns
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.bindings import Bindings
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.ports.errors import Conflict, NoRoom, Transient

COMES = timedelta(seconds=15)
"""Until a pod that nothing holds up counts as held up: a controller's own delay for the first lost pod is 10 s."""
STUCK = timedelta(seconds=3)
"""The same for one that a scheduler or a registry turned down: it may have been before the old pods were gone."""
_TROUBLES = frozenset({"FailedCreate", "FailedCreatePod", "FailedScheduling"})


@dataclass(frozen=True, slots=True)
class _Known:
    """A pod, its node, and what a listing said of both."""

    pod: Pod
    node: Node | None
    status: TaskStatus | None


class KubeWorkloads:
    """Port Workloads over what ``sight`` sees; agents find what their pods are to run in ``bindings``."""

    def __init__(self, sight: Sight, restarts: Restarts, bindings: Bindings) -> None:
        self._sight, self._restarts, self._told = sight, restarts, bindings
        self._known: dict[ObjectUid, _Known] = {}

    async def tasks(self, job: JobUid | None = None) -> tuple[TaskStatus, ...]:
        """Return the bound pods' tasks, and those of pods that went while this process watched."""
        await self._sight.ready()
        return await self._listed(job)

    async def _listed(self, job: JobUid | None = None) -> tuple[TaskStatus, ...]:
        if job is None:
            pods = self._sight.every_pod()
            self._known = {pod.uid: self._look(pod) async for pod in in_turns(pods)}
            statuses = [known.status for known in self._known.values()]
        else:
            statuses = list(map(self._status, self._sight.pods(job)))
        known = {status.ref.uid: status for status in statuses if status is not None}
        gone = (status for status in self._sight.ended.values() if job in (None, status.job))
        return (*known.values(), *(status for status in gone if status.ref.uid not in known))

    async def create(self, launches: Sequence[TaskLaunch], *, avoid: frozenset[NodeName]) -> None:
        """Bind the launches to running pods of the job that have no task yet, all or none; waits a while for them.

        Raises NoRoom with the words of scheduler, registry or quota when they do not come.
        """
        loop = asyncio.get_running_loop()
        began, changes = loop.time(), self._sight.listen(launches[0].job.uid)
        try:
            while True:
                found = await self._bindings(launches, avoid)
                if not isinstance(found, Short):
                    await self._bind(found)
                    return
                patience = (STUCK if found.stuck else COMES).total_seconds() - (loop.time() - began)
                if patience <= 0:
                    raise NoRoom(await self._reason(launches[0].job.uid, found))
                await self._next_change(changes, launches[0].job.uid, patience)
        finally:
            self._sight.deafen(changes)

    async def delete(self, task: TaskUid, *, grace: timedelta) -> None:  # noqa: ARG002 - a pod brings its own
        """Delete the pod of the task; its controller may make it again. Absent is fine."""
        await self._sight.ready()
        pod = self._sight.families.pod(task)
        if pod is not None and pod.deleted is None:
            try:
                await self._sight.client.delete(pod_ref(pod), why=f"task {task} is not wanted any more")
            except Missing:
                return

    async def watch(self) -> AsyncIterator[TaskStatus]:
        """Yield every task, then every change; pods that are gone are forgotten then."""
        changes = self._sight.listen()
        try:
            await self._sight.opened()
            async for status in in_turns(await self._listed()):
                yield status
            await self._unbind_missed()
            while True:
                change = await changes.get()
                for status in self._meant(change):
                    yield status
                if change.how is How.GONE and isinstance(change.now, Pod) and task_of(change.now):
                    await self._told.unbind(change.now.uid)
        finally:
            self._sight.deafen(changes)

    def supports(self) -> frozenset[Level]:
        """Return all levels: which of them a job can take is told with the job."""
        return frozenset(Level)

    def _look(self, pod: Pod) -> "_Known":
        """Return what the pod says, not made anew while nothing changed: listings of 50,000 come every few seconds."""
        known, node = self._known.get(pod.uid), self._sight.node_of(pod)
        if known is not None and known.pod is pod and known.node is node:
            return known
        return _Known(pod, node, self._status(pod))

    def _status(self, pod: Pod) -> TaskStatus | None:
        return status_of(pod, gone=False, node=self._sight.node_of(pod))

    def _meant(self, change: AnyChange) -> Iterable[TaskStatus]:
        """Return the statuses that a change may have changed; a node's matters when it is deleted or out of service."""
        if isinstance(change.now, Pod):
            ended = self._sight.ended.get(task_of(change.now) or TaskUid(""))
            status = ended if change.how is How.GONE else self._status(change.now)
            return () if status is None else (status,)
        if isinstance(change.now, Node) and (change.how is How.GONE or change.now.out_of_service):
            statuses = map(self._status, self._sight.families.pods_on(change.now.name))
            return tuple(status for status in statuses if status is not None and status.phase is TaskPhase.GONE)
        return ()

    async def _bindings(
        self, launches: Sequence[TaskLaunch], avoid: frozenset[NodeName]
    ) -> tuple[Binding, ...] | Short:
        job = launches[0].job
        top = await self._sight.know(job.uid)
        if top is None:
            return Short(f"there is no job object with uid {job.uid} for {job.name}")
        record = self._restarts.recorded(job.uid)
        if record is not None and not record.written:
            return Short(f"{top.ref} is being restarted, step {record.step + 1} of {len(record.plan.steps)}")
        wanted = [launch for launch in launches if launch.task.uid not in self._sight.ended]
        found = bind(wanted, self._sight.pods(job.uid), self._sight.seats(top), avoid=avoid)
        view = self._sight.view(top) if isinstance(found, Short) else None
        if isinstance(found, Short) and view is not None and view.stopped:
            return replace(found, because=f"{found.because}: {view.pause}")
        return found

    async def _next_change(self, changes: "asyncio.Queue[AnyChange]", job: JobUid, patience_s: float) -> None:
        """Wait for a change of the job or one of its pods; or for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while not self._concerns(job, await changes.get()):
                    pass

    def _concerns(self, job: JobUid, change: AnyChange) -> bool:
        if isinstance(change.now, Node):
            return False
        top = self._sight.families.top_over(change.now)
        return top is not None and JobUid(top.uid) == job

    async def _bind(self, bindings: Sequence[Binding]) -> None:
        """Mark each pod first, so that a successor knows; then tell its agent."""
        for binding in bindings:
            if binding.fresh:
                await self._mark(binding)
            if binding.fresh or await self._told.bound(binding.pod.uid) != binding.launch:
                await self._told.bind(binding.pod.uid, binding.launch)

    async def _mark(self, binding: Binding) -> None:
        task = binding.launch.task

        def change(source: JsonObject) -> JsonObject | None:
            already = text(source, "metadata", "annotations", TASK)
            if already and already != task.uid:
                raise Conflict(f"pod {binding.pod.name} was bound to task {already} meanwhile")
            return None if already else marks_of(binding.launch)

        try:
            await self._sight.edit(
                pod_ref(binding.pod), change, why=f"it is task {task.name} of {binding.launch.job.name}"
            )
        except Missing as gone:
            raise Transient(f"pod {binding.pod.name} went before it was bound") from gone

    async def _reason(self, job: JobUid, short: Short) -> str:
        """Return why there is no pod, in the words of whoever cannot make it where he says so."""
        top = self._sight.job(job)
        if top is None or short.stuck:
            return short.because
        said = [await self._trouble(ref) for ref in self._makers(top)]
        last = next(filter(None, reversed(said)), "")
        return f"{short.because}: {last}" if last else short.because

    def _makers(self, top: JobObject) -> Sequence[JobObject]:
        jobset, children = self._sight.families.below(top)
        return (top, *filter(None, (jobset,)), *children)

    async def _trouble(self, maker: JobObject) -> str:
        """Return the last word on why a maker makes nothing, "" where there is none."""
        params, last = {"fieldSelector": f"involvedObject.uid={maker.uid}"}, ""
        async for item in listed(self._sight.client, EVENTS, params, namespace=maker.ref.namespace):
            event = event_of(item)
            last = event.message if event.reason in _TROUBLES else last
        return last

    async def _unbind_missed(self) -> None:
        """Forget the pods that went while nobody watched."""
        there: set[str] = {pod.uid for pod in self._sight.every_pod()}
        for pod in sorted(await self._told.pods() - there):
            await self._told.unbind(pod)
