"""Who belongs to whom: pods by the job they are of, jobs by their parents; kept up change by change."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

from keepstep.adapters.kube_adopt import asked
from keepstep.adapters.kube_binding import task_of
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_job_object import JobObject
from keepstep.adapters.kube_kind import Kind
from keepstep.adapters.kube_kinds import kind_at
from keepstep.adapters.kube_objects import ObjectUid, OwnerRef
from keepstep.adapters.kube_pod import Pod
from keepstep.adapters.kube_shelf import Change, How
from keepstep.contracts.ids import NodeName, TaskUid


class Families:
    """Job objects and pods by the uid of what made them."""

    def __init__(self) -> None:
        self._jobs: dict[ObjectUid, JobObject] = {}
        self._made: dict[ObjectUid, dict[ObjectUid, JobObject]] = defaultdict(dict)
        self._pods: dict[ObjectUid, dict[ObjectUid, Pod]] = defaultdict(dict)
        self._on: dict[NodeName, dict[ObjectUid, Pod]] = defaultdict(dict)
        self._bound: dict[TaskUid, Pod] = {}

    def job_changed(self, change: Change[JobObject]) -> None:
        """Take in a change of a job object."""
        job = change.now
        owner = job.owner.uid if job.owner is not None else None
        if change.how is How.GONE:
            self._jobs.pop(job.uid, None)
            if owner is not None:
                _drop(self._made, owner, job.uid)
            return
        self._jobs[job.uid] = job
        if owner is not None:
            self._made[owner][job.uid] = job

    def pod_changed(self, change: Change[Pod]) -> None:
        """Take in a change of a pod."""
        pod = change.now
        owner, task = pod.owner.uid if pod.owner is not None else ObjectUid(""), task_of(pod)
        if change.how is How.GONE:
            if task is not None:
                self._bound.pop(task, None)
            _drop(self._pods, owner, pod.uid)
            if pod.node is not None:
                _drop(self._on, pod.node, pod.uid)
            return
        if task is not None:
            self._bound[task] = pod
        self._pods[owner][pod.uid] = pod
        if pod.node is not None:
            self._on[pod.node][pod.uid] = pod

    def job(self, uid: ObjectUid) -> JobObject | None:
        """Return the job object of this uid."""
        return self._jobs.get(uid)

    def kind(self, job: JobObject) -> Kind:
        """Return the kind of a job object. Raises LookupError for an object of any other."""
        found = kind_at(job.ref.api, job.ref.kind)
        if found is None:
            raise LookupError(f"{job.ref} is of no job kind")
        return found

    def tops(self) -> tuple[JobObject, ...]:
        """Return the job objects that ask for keepstep and stand under no other."""
        return tuple(job for job in self._jobs.values() if asked(job.source) and self.is_top(job))

    def is_top(self, job: JobObject) -> bool:
        """Return whether a job stands under no other of our kinds, be that seen or not."""
        maker = job.owner
        return maker is None or kind_at(maker.api, maker.kind) is None

    def missing(self) -> Iterator[OwnerRef]:
        """Yield the makers that pods and job objects name and nobody shows."""
        pods = [next(iter(made.values())).owner for made in self._pods.values()]
        jobs = [next(iter(made.values())).owner for made in self._made.values()]
        yield from (maker for maker in (*pods, *jobs) if maker is not None and maker.uid not in self._jobs)

    def below(self, top: JobObject) -> tuple[JobObject | None, tuple[JobObject, ...]]:
        """Return the JobSet that a TrainJob made, and the child Jobs of a JobSet or TrainJob, by name."""
        made_of = self.kind(top).made_of
        jobset = next(iter(self._made.get(top.uid, {}).values()), None) if JobKind.JOBSET in made_of else None
        maker = jobset if JobKind.JOBSET in made_of else top
        return jobset, () if JobKind.JOB not in made_of or maker is None else self._children(maker)

    def top_of(self, uid: ObjectUid) -> JobObject | None:
        """Return the job that an object of this uid stands under, itself included; a ring of owners ends the walk."""
        job, walked = self._jobs.get(uid), {uid}
        while job is not None and job.owner is not None and job.owner.uid not in walked:
            above = self._jobs.get(job.owner.uid)
            if above is None:
                break
            job = above
            walked.add(job.uid)
        return job

    def top_over(self, thing: JobObject | Pod) -> JobObject | None:
        """Return the job that a job object or pod stands under, also when it is gone itself."""
        known = self.top_of(thing.uid)
        return known if known is not None or thing.owner is None else self.top_of(thing.owner.uid)

    def pods(self, top: ObjectUid) -> tuple[Pod, ...]:
        """Return the pods of a job, by name."""
        found = [pod for owner in self._makers(top) for pod in self._pods.get(owner, {}).values()]
        return tuple(sorted(found, key=lambda pod: pod.name))

    def pod(self, task: TaskUid) -> Pod | None:
        """Return the pod that a task is bound to."""
        return self._bound.get(task)

    def job_of(self, one: Pod | JobObject) -> ObjectUid | None:
        """Return the uid of the job that a pod or job object stands under, as far as its makers are known."""
        maker = None if one.owner is None else one.owner.uid
        below = one.uid if isinstance(one, JobObject) and maker not in self._jobs else maker
        top = None if below is None else self.top_of(below)
        return below if top is None else top.uid

    def may_be_of(self, top: ObjectUid, pod: Pod) -> bool:
        """Return whether a pod is of this job or made by something below it that was not seen yet."""
        if pod.owner is None or kind_at(pod.owner.api, pod.owner.kind) is None:
            return False
        found = self.top_of(pod.owner.uid)
        return found is None or found.uid == top

    def pods_on(self, node: NodeName) -> tuple[Pod, ...]:
        """Return the pods on a node."""
        return tuple(self._on.get(node, {}).values())

    def _children(self, top: JobObject) -> tuple[JobObject, ...]:
        return tuple(sorted(self._made.get(top.uid, {}).values(), key=lambda job: job.ref.name))

    def _makers(self, top: ObjectUid) -> Iterable[ObjectUid]:
        """Return the uids of a job and of all objects below it."""
        makers, found = {top: None}, [top]
        while found:
            below = [uid for uid in self._made.get(found.pop(), {}) if uid not in makers]
            makers |= dict.fromkeys(below)
            found += below
        return makers


K = TypeVar("K")
V = TypeVar("V")


def _drop(index: dict[K, dict[ObjectUid, V]], key: K, uid: ObjectUid) -> None:
    """Take one entry out, and its group with the last one: keys of a year would fill the memory."""
    group_of = index.get(key)
    if group_of is not None:
        group_of.pop(uid, None)
        if not group_of:
            del index[key]
