"""Following a job's life: generation, where it resumed, and what an open incident needs of it. Says nothing."""

from datetime import datetime

from keepstep.contracts.events import (
    CheckpointChosen,
    EvidenceCaptured,
    JobAccepted,
    RecoveryPlanned,
    RecoveryStarted,
)
from keepstep.core import forgetting, placement
from keepstep.diagnoser.core.state import Attempt, JobFold, change, with_attempt
from keepstep.diagnosis.finding import Resumed
from keepstep.diagnosis.lines import signature


def accepted(fold: JobFold, event: JobAccepted) -> JobFold:
    """Take over what the specification says."""
    policy = event.spec.policy
    return change(fold, policy=policy.detection, longest=policy.recovery.longest, nproc=event.spec.nproc)


def chosen(fold: JobFold, event: CheckpointChosen) -> JobFold:
    """Remember where the next generation will resume, path included."""
    return change(fold, chosen=Resumed(step=event.step, path=event.path))


def planned(fold: JobFold, event: RecoveryPlanned) -> JobFold:
    """The plan has the last word on the step; the choice knows its path. Tasks to be replaced are answered for."""
    path = fold.chosen.path if fold.chosen.step == event.resume_step else None
    return change(placement.planned(fold, event), chosen=Resumed(step=event.resume_step, path=path))


def restarted(fold: JobFold, event: RecoveryStarted) -> JobFold:
    """Begin the next generation: what failed in the older one is answered, what fails now is a new attempt."""
    if event.to_generation <= fold.generation:
        return fold
    fold = change(fold, generation=event.to_generation, resumed=fold.chosen)
    if fold.incident is None:
        return fold
    former = fold.incident.attempt
    return with_attempt(fold, _lasting(former, _next_number(former, event)))


def _next_number(former: Attempt, event: RecoveryStarted) -> int:
    """Return the next attempt's number; one without verdict is still to come when its predecessor is planned again."""
    if former.verdict is None and former.number > event.attempt:
        return former.number
    return max(former.number, event.attempt) + 1


def _lasting(attempt: Attempt, number: int) -> Attempt:
    """Return the next attempt, with what has no verdict yet and outlives a generation: tasks, devices, nodes.

    The recovery may have gone on for another reason; a lost node is to be isolated all the same.
    """
    left = tuple(found for found in attempt.findings if found.culprit is not None and found.culprit.rank is None)
    if attempt.settle is None or not left:
        return Attempt(number=number)
    return Attempt(
        number=number,
        findings=left,
        faults=tuple(found.fault for found in left),
        count=len(left),
        occurred=min(found.occurred for found in left),
        detected=attempt.detected,
        settle=attempt.settle,
    )


def captured(fold: JobFold, event: EvidenceCaptured) -> JobFold:
    """Keep the innermost frame of a stack while the verdict is open."""
    if fold.incident is None or event.what != "stack" or not event.lines:
        return fold
    attempt = fold.incident.attempt
    stacks = {**attempt.stacks, event.rank: signature(event.lines[0])}
    return with_attempt(fold, attempt.model_copy(update={"stacks": stacks}))


def ended(fold: JobFold, now: datetime) -> JobFold:
    """Stop diagnosing the job."""
    bare = JobFold(pool=fold.pool, job=fold.job, generation=fold.generation, dropped=fold.dropped)
    return forgetting.ended(bare, now)
