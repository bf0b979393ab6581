"""Following a job's life: placement, generation and where it resumed. Says nothing."""

from datetime import datetime

from keepstep.contracts.events import (
    CheckpointChosen,
    EvidenceCaptured,
    JobAccepted,
    JobStarted,
    RanksStarted,
    RecoveryPlanned,
    RecoveryStarted,
    TaskJoined,
)
from keepstep.diagnoser.core.state import Attempt, JobFold, Placed, change, with_attempt
from keepstep.diagnosis.finding import Resumed
from keepstep.diagnosis.lines import signature


def accepted(fold: JobFold, event: JobAccepted) -> JobFold:
    """Take over what the specification says."""
    policy = event.spec.policy
    return change(fold, policy=policy.detection, longest=policy.recovery.longest, nproc=event.spec.nproc)


def joined(fold: JobFold, event: TaskJoined) -> JobFold:
    """Place a task's ranks; the former incarnation of its index is gone."""
    if event.node is None or event.ref.uid in fold.tasks:
        return fold
    start = event.ref.index * fold.nproc
    place = Placed(node=event.node, ranks=tuple(range(start, start + fold.nproc)))
    former = {uid for uid, index in fold.indexes.items() if index == event.ref.index}
    return change(
        fold,
        tasks={uid: other for uid, other in fold.tasks.items() if uid not in former} | {event.ref.uid: place},
        indexes={u: i for u, i in fold.indexes.items() if u not in former} | {event.ref.uid: event.ref.index},
    )


def placed(fold: JobFold, event: JobStarted | RanksStarted) -> JobFold:
    """Take over who runs where."""
    if event.generation is not None and event.generation < fold.generation:
        return fold
    return change(
        fold,
        tasks={entry.task.uid: Placed(node=entry.node, ranks=entry.ranks) for entry in event.placement},
        indexes={entry.task.uid: entry.task.index for entry in event.placement},
    )


def chosen(fold: JobFold, event: CheckpointChosen) -> JobFold:
    """Remember where the next generation will resume, path included."""
    return change(fold, chosen=Resumed(step=event.step, path=event.path))


def planned(fold: JobFold, event: RecoveryPlanned) -> JobFold:
    """The plan has the last word on the step; the choice knows its path. Tasks to be replaced are answered for."""
    path = fold.chosen.path if fold.chosen.step == event.resume_step else None
    return change(
        fold,
        chosen=Resumed(step=event.resume_step, path=path),
        tasks={uid: place for uid, place in fold.tasks.items() if uid not in event.replace},
        indexes={uid: index for uid, index in fold.indexes.items() if uid not in event.replace},
    )


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
    return change(bare, ended=True, ended_at=now)
