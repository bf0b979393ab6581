"""Where jobs run now: which jobs and ranks a fault of a node or device would hurt."""

from collections.abc import Iterable, Mapping

from keepstep.console.views import HurtJob
from keepstep.contracts.events import Placed
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.topology import Device, JobRef


class Places:
    """The placement of every job that has not ended, by job and by node."""

    def __init__(self) -> None:
        self._of_job: dict[JobUid, tuple[JobRef, tuple[Placed, ...]]] = {}
        self._of_node: dict[NodeName, dict[JobUid, tuple[Placed, ...]]] = {}
        self._devices: dict[TaskUid, tuple[str, ...]] = {}
        """Of a task that told them, local rank ascending."""

    def put(self, job: JobRef, placement: tuple[Placed, ...]) -> None:
        """Take in where a job runs now."""
        self.drop(job.uid)
        self._of_job[job.uid] = job, placement
        for placed in placement:
            here = self._of_node.setdefault(placed.node, {})
            here[job.uid] = (*here.get(job.uid, ()), placed)

    def drop(self, job: JobUid) -> None:
        """Forget a job that ended."""
        _, placement = self._of_job.pop(job, (None, ()))
        for placed in placement:
            here = self._of_node.get(placed.node, {})
            here.pop(job, None)
            if not here:
                self._of_node.pop(placed.node, None)
            self._devices.pop(placed.task.uid, None)

    def given(self, task: TaskUid, devices: tuple[Device, ...], *, most: int = 100_000) -> None:
        """Note which devices a task was given; of so many tasks at most."""
        if devices and (task in self._devices or len(self._devices) < most):
            self._devices[task] = tuple(device.id for device in devices)

    def on(self, node: NodeName | None) -> tuple[Placed, ...]:
        """Return the tasks that run on a node."""
        here: Mapping[JobUid, tuple[Placed, ...]] = {} if node is None else self._of_node.get(node, {})
        return tuple(placed for tasks in here.values() for placed in tasks)

    def jobs_on(self, node: NodeName) -> tuple[JobRef, ...]:
        """Return the jobs that run on a node."""
        return tuple(self._of_job[job][0] for job in self._of_node.get(node, {}))

    def hurt(self, node: NodeName | None, device: str | None = None) -> tuple[HurtJob, ...]:
        """Return jobs and ranks on a node; of a device those that were given it, where their tasks told."""
        here: Mapping[JobUid, tuple[Placed, ...]] = {} if node is None else self._of_node.get(node, {})
        found = (HurtJob(job=self._of_job[job][0], ranks=self._ranks(tasks, device)) for job, tasks in here.items())
        return tuple(one for one in found if one.ranks)

    def hurt_of(self, job: JobRef, node: NodeName | None, device: str | None = None) -> HurtJob:
        """Return the job with its ranks on a node, or with none where that is not known."""
        found = next((one for one in self.hurt(node, device) if one.job.uid == job.uid), None)
        return found or HurtJob(job=job)

    def _ranks(self, tasks: Iterable[Placed], device: str | None) -> tuple[int, ...]:
        ranks: list[int] = []
        for placed in tasks:
            told = self._devices.get(placed.task.uid, ())
            if device is None or not told:
                ranks += placed.ranks
            elif device in told and told.index(device) < len(placed.ranks):
                ranks.append(placed.ranks[told.index(device)])
        return tuple(sorted(ranks))

    def task_ranks(self, job: JobUid, task: TaskUid | None) -> tuple[int, ...]:
        """Return the ranks of a task where it runs now."""
        _, placement = self._of_job.get(job, (None, ()))
        return next((placed.ranks for placed in placement if placed.task.uid == task), ())
