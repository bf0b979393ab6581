"""The figures of one job: how much of its time was training, how far it got, and how old its newest checkpoint is."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.core import ettr
from keepstep.core.saving import Saving

LINGERS = timedelta(minutes=5)
"""How long an ended job is still told of: several scrapes, so that its last figures are seen."""
OUTAGES = 64
"""Interruptions remembered one by one; earlier ones are remembered by the seconds that they took."""


class JobFigures(Frozen):
    """What is known of one job."""

    name: str
    run: ettr.Run = ettr.Run()
    earlier_lost_s: float = 0.0
    """Seconds that interruptions took which are not remembered one by one any more."""
    saves: bool = False
    """It was told a folder for checkpoints, so that having none is worth a word."""
    checkpointed: AwareDatetime | None = None
    """When its newest checkpoint was whole."""
    saving: Saving = Saving()
    first_step: int | None = None
    last_step: int | None = None
    incidents: int = 0

    @property
    def accepted(self) -> datetime:
        """When its life began."""
        assert self.run.accepted is not None, "figures begin with JobAccepted"  # noqa: S101 - narrows
        return self.run.accepted

    def over(self, now: datetime) -> bool:
        """Tell whether it ended so long ago that nobody is told of it any more."""
        return self.run.ended is not None and now >= self.run.ended + LINGERS

    @property
    def unsaved_since(self) -> datetime | None:
        """Since when its work is on no checkpoint; None for a job that saves none, and while it waits for its nodes."""
        return self.checkpointed or (self.run.started if self.saves else None)


class Share(Frozen):
    """Of one job or several: seconds of wall time and of productive time, and steps made for good."""

    wall_s: float = 0.0
    productive_s: float = 0.0
    steps: int = 0

    @property
    def ettr(self) -> float:
        """Productive time over wall time; 0 before there is any."""
        return self.productive_s / self.wall_s if self.wall_s else 0.0

    @property
    def goodput(self) -> float:
        """Steps a second that were made for good, the wall time over."""
        return self.steps / self.wall_s if self.wall_s else 0.0

    def __add__(self, other: "Share") -> "Share":
        """Return both together."""
        return Share(
            wall_s=self.wall_s + other.wall_s,
            productive_s=self.productive_s + other.productive_s,
            steps=self.steps + other.steps,
        )


def begun(message: e.JobAccepted, name: str) -> JobFigures:
    """Return the figures of a job that was accepted just now."""
    return JobFigures(name=name, run=ettr.tell(ettr.Run(), message), saves=message.spec.checkpoint_dir is not None)


def share(job: JobFigures, *, now: datetime) -> Share:
    """Return the job's share up to its end, or up to ``now``."""
    found = ettr.ratio(job.run, now=now)
    steps = 0 if job.first_step is None or job.last_step is None else max(0, job.last_step - job.first_step)
    productive = max(0.0, found.productive_s - job.earlier_lost_s)
    return Share(wall_s=found.wall_s, productive_s=productive, steps=steps)


def tell(job: JobFigures, message: Message) -> JobFigures:
    """Return the figures with one more message of the job."""
    job = _bounded(job.model_copy(update={"run": ettr.tell(job.run, message)}))
    match message:
        case e.FirstStepDone() | e.JobSucceeded() | e.RankExited():
            return _reached(job, message.step)
        case e.JobResumed() if message.step is not None:
            return job.model_copy(update={"last_step": message.step})
        case e.IncidentOpened():
            return job.model_copy(update={"incidents": job.incidents + 1})
        case e.CheckpointSaved():
            return job.model_copy(update={"saving": job.saving.found(message)})
        case e.CheckpointCommitted():
            update = {"checkpointed": message.time, "saving": job.saving.without(message.step)}
            return _reached(job.model_copy(update=update), message.step)
        case _:
            return job


def _reached(job: JobFigures, step: int | None) -> JobFigures:
    if step is None:
        return job
    first = step if job.first_step is None else min(job.first_step, step)
    return job.model_copy(update={"first_step": first, "last_step": max(step, job.last_step or 0)})


def _bounded(job: JobFigures) -> JobFigures:
    """Return the job with its oldest interruptions, where they are many, as the seconds that they took."""
    outages = sorted(job.run.outages.items(), key=lambda item: item[1].since)
    while len(outages) > OUTAGES and outages[0][1].resumed is not None:
        before = ettr.ratio(job.run, now=_end(outages))
        run = job.run.model_copy(update={"outages": dict(outages[1:])})
        lost = before.lost_s - ettr.ratio(run, now=_end(outages)).lost_s
        job = job.model_copy(update={"run": run, "earlier_lost_s": job.earlier_lost_s + max(0.0, lost)})
        outages = outages[1:]
    return job


def _end(outages: Sequence[tuple[str, ettr.Outage]]) -> datetime:
    """Return a moment after every interruption that is over, so that each is counted with all that it took."""
    ends = [one.resumed + timedelta(seconds=one.recompute_s) for _, one in outages if one.resumed is not None]
    return max(ends)
