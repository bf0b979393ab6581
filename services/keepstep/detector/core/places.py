"""Whose task is whose and since when it is watched, followed change by change: 50,000 of them are not gone through."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from keepstep.contracts.ids import JobUid, TaskUid
from keepstep.core.placement import Seat
from keepstep.detector.core.follow import SILENT
from keepstep.detector.core.hearing import Heard
from keepstep.detector.core.state import JobFold

NOBODY: frozenset[TaskUid] = frozenset()


class Places:
    """The tasks of all jobs that are watched."""

    def __init__(self) -> None:
        self.known: dict[TaskUid, float] = {}
        """Since when a task is watched, in seconds of the monotonic clock."""
        self._job: dict[TaskUid, JobUid] = {}
        self._placed: dict[JobUid, Mapping[TaskUid, Seat]] = {}
        self._never: dict[TaskUid, float] = {}
        """Those that were never heard, who is watched for longest first."""

    def follow(self, jobs: Sequence[JobFold], heard: Mapping[TaskUid, Heard], now: float) -> Iterator[TaskUid]:
        """Take in where the jobs are placed and yield the tasks that left; a placement that stays costs nothing."""
        fresh = {job.job.uid: job.tasks for job in jobs}
        for job in self._placed.keys() - fresh.keys():
            yield from self._replace(job, {}, heard, now)
            del self._placed[job]
        for job, tasks in fresh.items():
            if self._placed.get(job) is not tasks:
                yield from self._replace(job, tasks, heard, now)

    def heard(self, uid: TaskUid) -> None:
        """Note that a task was heard."""
        self._never.pop(uid, None)

    def jobs_of(self, uids: Iterable[TaskUid]) -> frozenset[JobUid]:
        """Return whose these tasks are, those of nobody left out."""
        return frozenset(self._job[uid] for uid in uids if uid in self._job)

    def overdue(self, heard: Mapping[TaskUid, Heard], *, before: float) -> Mapping[JobUid, frozenset[TaskUid]]:
        """Return the tasks that were last heard, or if never are watched, since before this moment, by job.

        ``heard`` has who was not heard for longest first.
        """
        found: dict[JobUid, set[TaskUid]] = defaultdict(set)
        for uid, last in heard.items():
            if last.at >= before:
                break
            if uid in self._job:
                found[self._job[uid]].add(uid)
        for uid, since in self._never.items():
            if since >= before:
                break
            found[self._job[uid]].add(uid)
        return {job: frozenset(uids) for job, uids in found.items()}

    def _replace(
        self, job: JobUid, tasks: Mapping[TaskUid, Seat], heard: Mapping[TaskUid, Heard], now: float
    ) -> Iterator[TaskUid]:
        before = self._placed.get(job, {})
        self._placed[job] = tasks
        for uid in [uid for uid in before if uid not in tasks and self._job.get(uid) == job]:
            for index in (self.known, self._job, self._never):
                index.pop(uid, None)
            yield uid
        for uid in [uid for uid in tasks if uid not in before]:
            self.known.setdefault(uid, now)
            self._job[uid] = job
            if uid not in heard:
                self._never.setdefault(uid, now)


def apart(job: JobFold) -> frozenset[TaskUid]:
    """Return the tasks that are known to be lost or silent: they tell nothing about our own ears."""
    called = (key.removeprefix(SILENT) for key in job.open if key.startswith(SILENT))
    return frozenset(TaskUid(uid) for uid in (*job.lost, *called) if uid in job.tasks)
