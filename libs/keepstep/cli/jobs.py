"""The jobs that a story tells of, and which one people mean by a name."""

from collections.abc import AsyncIterator, Iterable, Sequence

from keepstep.cli.errors import Failed, Refused
from keepstep.contracts.events import JobCreated
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message
from keepstep.core.job_now import JobState
from keepstep.core.known_job import KnownJob
from keepstep.core.naming import means

ENDINGS: dict[JobState, str] = {
    JobState.SUCCEEDED: "has succeeded",
    JobState.FAILED: "has failed",
    JobState.STOPPED: "was stopped",
    JobState.ABANDONED: "has ended with its keepstep",
}
"""How a job ended, as a sentence about it goes on."""


async def fold(story: AsyncIterator[Message]) -> tuple[KnownJob, ...]:
    """Return every job that a story tells of, oldest first."""
    found: dict[JobUid, KnownJob] = {}
    async for message in story:
        hear(found, message)
    return tuple(found.values())


def hear(known: dict[JobUid, KnownJob], message: Message) -> None:
    """Take a message into the jobs that are known; an order whose object is made is that job from then on."""
    if isinstance(message, JobCreated):
        known.pop(message.ordered.uid, None)
    if message.job is not None:
        known.setdefault(message.job.uid, KnownJob(message.job)).hear(message)


def left_behind(jobs: Iterable[KnownJob]) -> tuple[KnownJob, ...]:
    """Return the jobs of a stack that is gone: one that nobody ended ended with it."""
    found = tuple(jobs)
    for job in found:
        job.view.abandon()
    return found


def living(jobs: Sequence[KnownJob], name: str, *, to: str) -> KnownJob:
    """Return the job of this name or uid that has not ended; raises Failed unless there is exactly one.

    ``to`` is what is asked of it, as in ``stop``.
    """
    meant = [job for job in jobs if means(name, job.ref)]
    match [job for job in meant if not job.ended]:
        case [job]:
            return job
        case []:
            if not meant:
                raise Failed(f"there is no job {name}; keepstep job list shows them")
            last = meant[-1]
            how = f"{ENDINGS.get(last.view.state, last.view.state)} already; there is nothing to {to}"
            raise Failed(f"job {last.ref.name} {last.ref.uid} {how}")
        case several:
            uids = ", ".join(job.ref.uid for job in several)
            raise Failed(f"{len(several)} jobs {name} have not ended; say the uid of one: {uids}")


def only(jobs: Sequence[KnownJob], node: str | None, *, to: str) -> KnownJob:
    """Return the one job that has not ended, or, where a node is named, the one with a task on it.

    Raises Failed where no job runs, and Refused, with the jobs to choose from, where it is not clear which is meant.
    """
    running = [job for job in jobs if not job.ended]
    if not running:
        raise Failed(f"no job runs; there is nothing to {to}")
    meant = [job for job in running if node is None or node in _nodes(job)]
    if len(meant) == 1:
        return meant[0]
    if not meant:
        nodes = ", ".join(sorted({each for job in running for each in _nodes(job)})) or "none"
        raise Refused(f"--node {node}: no job has a task there now; name one of {nodes}")
    told = ", ".join(f"{job.ref.name} {job.ref.uid}" for job in meant)
    raise Refused(f"--job is missing: {len(meant)} jobs run; say the name or uid of one: {told}")


def _nodes(job: KnownJob) -> set[str]:
    return {placed.node for placed in job.view.placement}


def newest(jobs: Sequence[KnownJob], name: str) -> KnownJob:
    """Return the job of this name or uid: one that has not ended before one that has, then the newest. Failed."""
    meant = [job for job in jobs if means(name, job.ref)]
    if not meant:
        raise Failed(f"there is no job {name}; keepstep job list shows them")
    return next((job for job in reversed(meant) if not job.ended), meant[-1])
