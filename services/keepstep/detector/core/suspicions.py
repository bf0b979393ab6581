"""What the watch says of a job it suspects: the envelope, the ids of episodes, and exits that only heartbeats show."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from keepstep.contracts.events import ExitSuspected
from keepstep.contracts.ids import EventId, TaskUid, episode_id
from keepstep.contracts.message import Message
from keepstep.core.placement import Seat
from keepstep.detector.core.hearing import Heard, unreported
from keepstep.detector.core.state import JobFold


def exits(job: JobFold, heard: Mapping[TaskUid, Heard], now: float, at: datetime) -> Iterable[Message]:
    """Return the exits that heartbeats show and nobody reported."""
    for uid, view, rank in unreported(job, heard, now):
        if rank.exit is not None:
            yield ExitSuspected(
                **about(job, view, at),
                id=episode("ExitSuspected", job, f"exit/{uid}/{rank.rank}"),
                rank=rank.rank,
                exit=rank.exit,
                step=rank.step,
                phase=rank.phase,
            )


def episode(kind: str, job: JobFold, key: str) -> EventId:
    """Return the id of the next episode of what ``key`` names."""
    return episode_id(kind, f"{job.job.uid}/{key}", job.generation, episode=job.episodes.get(key, 0) + 1)


def about(job: JobFold, view: Seat | None, at: datetime) -> dict[str, object]:
    """Return the envelope of what is said of a task, or of the job where ``view`` is None."""
    return {
        "time": at,
        "pool": job.pool,
        "job": job.job,
        "task": view.ref.uid if view is not None else None,
        "node": view.node if view is not None else None,
        "generation": job.generation,
    }
