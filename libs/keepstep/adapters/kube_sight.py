"""What keepstep sees of a cluster at one time: pods of its jobs, nodes, and the job objects of every kind there is.

Made anew for each activation, so that nobody acts on what a standby saw last.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TypeAlias, TypeVar

from keepstep.adapters.kube_cache import Cache, Rhythm, heard
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_families import Families
from keepstep.adapters.kube_job_caches import JobCaches
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_job_object import JobObject
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_kind import Below
from keepstep.adapters.kube_kinds import kind_at
from keepstep.adapters.kube_marks import JOB_LABEL
from keepstep.adapters.kube_node import Node, node_of
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid, PodUid
from keepstep.adapters.kube_pod import Pod, pod_of
from keepstep.adapters.kube_resources import NODES, PODS
from keepstep.adapters.kube_shelf import Change, How, Kept
from keepstep.adapters.kube_spread import Spread
from keepstep.adapters.kube_tasks import status_of
from keepstep.adapters.kube_view import JobView
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.ports.cluster import TaskStatus
from keepstep.ports.errors import Transient

T = TypeVar("T", bound=Kept)

NODE_SETTLES = timedelta(seconds=1)
"""A pod may be seen before its new node; after this a node that is not listed is asked for by name."""
REMEMBERED = 50_000
"""Ends of tasks kept: a gang of ten thousand may restart a few times while somebody looks the other way."""

AnyChange: TypeAlias = Change[Pod] | Change[Node] | Change[JobObject]


class Sight:
    """Caches of one cluster. ``follow`` must run; the rest answers from memory and raises Transient while blind."""

    def __init__(self, client: KubeClient, *, namespaces: Sequence[str] = (), rhythm: Rhythm | None = None) -> None:
        """``namespaces`` are those that jobs are looked for in; without any it is all of them."""
        self.client = client
        ours = {"labelSelector": JOB_LABEL}
        self._pods = Spread(client, PODS, pod_of, namespaces=namespaces, selector=ours, rhythm=rhythm)
        self._nodes = Cache(client, NODES, node_of, rhythm=rhythm)
        self.kinds = JobCaches(client, namespaces=namespaces, rhythm=rhythm)
        self._known: dict[NodeName, Node] = {}
        self.gone: set[NodeName] = set()
        """Nodes that are not there any more and that pods still name."""
        self._asking: dict[NodeName, asyncio.Task[None]] = {}
        self.families = Families()
        self.ended: dict[TaskUid, TaskStatus] = {}
        """The last word on the tasks of pods that are gone, oldest first."""
        self._listeners: dict[ObjectUid | None, list[asyncio.Queue[AnyChange]]] = {}
        """By the job that each waits for; None for all."""

    async def follow(self) -> None:
        """Keep everything current for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pods.follow(lambda change: self._take(change, self._pod_changed)))
            group.create_task(self._follow(self._nodes, self._node_changed))
            for kind in JobKind:
                group.create_task(self.kinds.follow(kind, self._job_changed))

    async def ready(self) -> None:
        """Return once pods and nodes were listed and are being watched; raises Transient when not for a second."""
        await self._pods.listed()
        await self._nodes.listed()
        await heard(lambda: self._pods.following and self._nodes.following)

    async def know(self, job: JobUid) -> JobObject | None:
        """Return the job object, None where the server shows none; raises Transient while its kind is not followed."""
        await self.ready()
        await heard(lambda: self._sure_of(job))
        return self.job(job)

    def _sure_of(self, job: JobUid) -> bool:
        top = self.job(job)
        if top is None:
            return all(map(self.kinds.answered, JobKind)) and job not in self.unseen()
        kind = self.families.kind(top)
        return self.kinds.seen(kind.name) and all(map(self.kinds.answered, kind.made_of))

    def unseen(self) -> frozenset[JobUid]:
        """Return the jobs whose pods stand while their kind cannot be seen."""
        makers = ((kind_at(one.api, one.kind), one.uid) for one in self.families.missing())
        return frozenset(JobUid(uid) for kind, uid in makers if kind is not None and not self.kinds.seen(kind.name))

    async def opened(self) -> None:
        """Return once pods and nodes are being watched, however long that takes."""
        while True:
            with suppress(Transient):
                return await self.ready()

    def listen(self, job: JobUid | None = None) -> "asyncio.Queue[AnyChange]":
        """Return a queue that gets every change from now on, or those of one job; give it back to ``deafen``.

        Where hundreds wait for their pods, each is woken by its own alone.
        """
        queue: asyncio.Queue[AnyChange] = asyncio.Queue()
        self._listeners.setdefault(None if job is None else ObjectUid(job), []).append(queue)
        return queue

    def deafen(self, queue: "asyncio.Queue[AnyChange]") -> None:
        """Put no more into this queue."""
        for job, queues in tuple(self._listeners.items()):
            if queue in queues:
                queues.remove(queue)
                if not queues:
                    del self._listeners[job]

    @property
    def nodes(self) -> Mapping[NodeName, Node]:
        """All nodes by name."""
        return self._known

    def node_of(self, pod: Pod) -> Node | None:
        """Return the pod's node; one that was not seen yet counts as there until the server says that it is not."""
        if pod.node is None or pod.node in self.gone:
            return None
        return self._known.get(pod.node) or Node(ObjectUid(""), pod.node, "0", ready=True)

    def job(self, uid: JobUid) -> JobObject | None:
        """Return the job object with this uid."""
        return self.families.job(ObjectUid(uid))

    def tops(self) -> tuple[JobObject, ...]:
        """Return every job object that asks for keepstep."""
        return self.families.tops()

    def view(self, top: JobObject) -> JobView:
        """Return the job as its kind shows it, with its child objects."""
        return self.families.kind(top).rules.read(top.source, self._below(top))

    def seats(self, top: JobObject) -> Sequence[str]:
        """Return the seats of the job's tasks, in rank order."""
        return self.families.kind(top).seats(top.source, self._below(top))

    def _below(self, top: JobObject) -> Below:
        jobset, jobs = self.families.below(top)
        return Below(None if jobset is None else jobset.source, [one.source for one in jobs])

    def pods(self, uid: JobUid) -> tuple[Pod, ...]:
        """Return the pods of a job."""
        return self.families.pods(ObjectUid(uid))

    def pod(self, uid: PodUid) -> Pod | None:
        """Return the pod of this uid."""
        return self._pods.find(uid)

    def every_pod(self) -> tuple[Pod, ...]:
        """Return all pods of keepstep's jobs."""
        return tuple(self._pods.every())

    async def edit(self, ref: ObjectRef, change: Callable[[JsonObject], JsonObject | None], *, why: str) -> None:
        """Write into a pod or job object and take in what it is then, so that it can be read at once."""
        answer = await self.client.edit(ref, change, why=why)
        if ref.kind == "Pod":
            self._take(self._pods.learn(answer), self._pod_changed)
            return
        self._take(self.kinds.learn(ref, answer), self.families.job_changed)

    async def _follow(self, cache: Cache[T], take: Callable[[Change[T]], None]) -> None:
        async for change in cache.changes():
            self._take(change, take)

    def _job_changed(self, change: Change[JobObject]) -> None:
        self._take(change, self.families.job_changed)

    def _take(self, change: Change[T] | None, take: Callable[[Change[T]], None]) -> None:
        if change is None:
            return
        take(change)
        now = change.now
        about = self.families.job_of(now) if isinstance(now, Pod | JobObject) else None
        for job in {None, about}:
            for queue in self._listeners.get(job, ()):
                queue.put_nowait(change)  # type: ignore[arg-type]  # T is one of the kinds that a listener takes

    def _pod_changed(self, change: Change[Pod]) -> None:
        self.families.pod_changed(change)
        pod = change.now
        if change.how is How.GONE:
            self._remember(pod)
            if pod.node is not None and not self.families.pods_on(pod.node):
                self.gone.discard(pod.node)
        elif pod.node is not None and not self._placed(pod.node):
            self._ask_once(pod.node)

    def _ask_once(self, node: NodeName) -> None:
        if node not in self._asking:
            self._asking[node] = asyncio.get_running_loop().create_task(self._ask_for(node))
            self._asking[node].add_done_callback(lambda _: self._asking.pop(node))

    def _remember(self, pod: Pod) -> None:
        status = status_of(pod, gone=True, node=self.node_of(pod))
        if status is not None:
            self.ended[status.ref.uid] = status
        while len(self.ended) > REMEMBERED:
            del self.ended[next(iter(self.ended))]

    def _placed(self, node: NodeName) -> bool:
        return node in self._known or node in self.gone

    def _node_changed(self, change: Change[Node]) -> None:
        name, known = change.now.name, self._known.get(change.now.name)
        if change.how is How.GONE:
            if known is not None and known.uid != change.now.uid:
                return  # it was made anew under its name while nobody watched: a list says what is there first
            self._known.pop(name, None)
            if self.families.pods_on(name):
                self.gone.add(name)
        else:
            self._known[name] = change.now
            self.gone.discard(name)

    async def _ask_for(self, node: NodeName) -> None:
        """Find out whether a node that a pod names and no list has is there at all."""
        await asyncio.sleep(NODE_SETTLES.total_seconds())  # the list of nodes may only be behind that of pods
        if self._placed(node):
            return
        with suppress(Transient):
            try:
                await self.client.get(ObjectRef("v1", "Node", "", node, ObjectUid("")))
            except Missing:
                gone = Node(ObjectUid(""), node, "0", ready=False)
                self._take(Change(How.GONE, gone, gone, seen=False), self._node_changed)
