"""Effective-training-time ratio of a run: productive time over wall time.

ETTR as in "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (Meta, 2024): productive run time
divided by the wall time since the job was accepted. Not productive are: the start up to the first step, in which it may
have waited for nodes, the time from each fault to the first step after it, and the recomputation of steps that no
checkpoint held. Intervals that overlap count once. Time in which ranks save is left in: not every script tells it
(``CheckpointSaved.save_s``). A job that marks no step has been starting until its first fault or its end, unless it
succeeded.
"""

from datetime import datetime, timedelta

from pydantic import AwareDatetime, Field

from keepstep.contracts import events as e
from keepstep.contracts.ids import IncidentId, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.core.beginning import began


class Outage(Frozen):
    """One incident's interval without productive steps; ``until`` is None while it lasts."""

    since: AwareDatetime
    resumed: AwareDatetime | None = None
    recompute_s: float = 0.0


class Run(Frozen):
    """What is known of one job's life."""

    accepted: AwareDatetime | None = None
    tasks: int = 1
    stepping: frozenset[TaskUid] = frozenset()
    """Tasks of generation 1 whose first step is done."""
    first_step: AwareDatetime | None = None
    started: AwareDatetime | None = None
    ended: AwareDatetime | None = None
    succeeded: bool = False
    outages: dict[IncidentId, Outage] = Field(default_factory=dict)


class Ratio(Frozen):
    """The ratio and its parts, in seconds; the parts add up to ``wall_s``."""

    ettr: float
    wall_s: float
    productive_s: float
    startup_s: float
    lost_s: float
    known: bool = True
    """Whether anything tells training from the start: a marked step, a fault, or the job's success."""


def tell(run: Run, message: Message) -> Run:
    """Return the run with one more message of its job; repeated messages change nothing."""
    match message:
        case e.JobAccepted() if run.accepted is None:
            return run.model_copy(update={"accepted": message.time, "tasks": message.spec.nodes})
        case e.JobStarted() if run.started is None:
            return run.model_copy(update={"started": message.time})
        case e.FirstStepDone() if run.first_step is None and message.task is not None:
            stepping = run.stepping | {message.task}
            done = message.time if len(stepping) >= run.tasks else None
            return run.model_copy(update={"stepping": stepping, "first_step": done})
        case e.JobSucceeded() | e.JobFailed() | e.JobStopRequested() if run.ended is None:
            return run.model_copy(update={"ended": message.time, "succeeded": isinstance(message, e.JobSucceeded)})
        case _:
            return _tell_outage(run, message)


def _tell_outage(run: Run, message: Message) -> Run:
    if message.incident is None:
        return run
    outage = run.outages.get(message.incident)
    match message:
        case e.FaultDiagnosed():
            outage = outage or Outage(since=began(message))
            outage = outage.model_copy(update={"since": began(message, outage.since)})
        case e.JobResumed() if outage is not None:
            outage = outage.model_copy(update={"resumed": message.time})
        case e.IncidentClosed() if outage is not None:
            recompute = 0.0 if message.accounts is None else message.accounts.recompute_s
            outage = outage.model_copy(update={"resumed": outage.resumed or message.time, "recompute_s": recompute})
        case _:
            return run
    return run.model_copy(update={"outages": {**run.outages, message.incident: outage}})


def ratio(run: Run, *, now: datetime) -> Ratio:
    """Return the ratio up to the job's end, or up to ``now`` while it runs; 0 for a job that was never accepted."""
    end = run.ended or now
    if run.accepted is None or end <= run.accepted:
        return Ratio(ettr=0.0, wall_s=0.0, productive_s=0.0, startup_s=0.0, lost_s=0.0, known=False)
    wall = (end - run.accepted).total_seconds()
    stepping = min(stepping_since(run) or end, end)
    startup = (stepping - run.accepted).total_seconds()
    lost = _covered([_interval(outage, end) for outage in run.outages.values()], after=stepping, until=end)
    productive = max(0.0, wall - startup - lost)
    known = stepping_since(run) is not None
    return Ratio(
        ettr=productive / wall, wall_s=wall, productive_s=productive, startup_s=startup, lost_s=lost, known=known
    )


def stepping_since(run: Run) -> datetime | None:
    """Return when the start was over; None while no step is known and none is to be believed."""
    if run.first_step is not None:
        return run.first_step
    if run.succeeded:
        return run.started
    return min((outage.since for outage in run.outages.values()), default=None)


def _interval(outage: Outage, end: datetime) -> tuple[datetime, datetime]:
    if outage.resumed is None:
        return outage.since, end
    return outage.since, outage.resumed + timedelta(seconds=outage.recompute_s)


def _covered(intervals: list[tuple[datetime, datetime]], *, after: datetime, until: datetime) -> float:
    """Return the seconds of after..until that at least one interval covers."""
    total, reached = 0.0, after
    for since, to in sorted(intervals):
        begin, stop = max(since, reached), min(to, until)
        if stop > begin:
            total += (stop - begin).total_seconds()
            reached = stop
    return total
