"""Following a job's life: what of its faults outlives a generation, a task, or the job. Says nothing."""

from datetime import datetime

from keepstep.contracts.events import (
    JobAccepted,
    JobStarted,
    RanksStarted,
    RecoveryPlanned,
    RecoveryStarted,
    TaskJoined,
)
from keepstep.core import forgetting, placement
from keepstep.detector.core.state import JobFold, change, dropped

SILENT = "silent/"
DEVICE = "device/"
LASTING = (SILENT, DEVICE)
"""Open faults with these keys outlive a generation: a new start of the ranks does not mend them."""


def accepted(fold: JobFold, event: JobAccepted) -> JobFold:
    """Take over what the job's specification says about detection."""
    return change(fold, policy=event.spec.policy.detection, nproc=event.spec.nproc)


def joined(fold: JobFold, event: TaskJoined) -> JobFold:
    """Place the task; one that was replaced stays out."""
    return _followed(fold, placement.joined(fold, event))


def placed(fold: JobFold, event: JobStarted | RanksStarted) -> JobFold:
    """Take over who runs where in the generation that started."""
    return _followed(fold, placement.placed(fold, event))


def planned(fold: JobFold, event: RecoveryPlanned) -> JobFold:
    """Forget the tasks that will be replaced: what they still say is of no consequence."""
    return _followed(fold, placement.planned(fold, event))


def _followed(before: JobFold, after: JobFold) -> JobFold:
    """Return the fold after a change of placement, without the silences of the tasks that left by it."""
    if after is before:
        return dropped(before)
    gone = before.tasks.keys() - after.tasks.keys()
    keys = {SILENT + uid for uid in gone}
    return change(
        after,
        lost=tuple(uid for uid in after.lost if uid not in gone),
        open={key: entry for key, entry in after.open.items() if key not in keys},
        episodes={key: count for key, count in after.episodes.items() if key not in keys},
    )


def restarted(fold: JobFold, event: RecoveryStarted) -> JobFold:
    """Begin the next generation: exits, stalls and logs of the older one are over."""
    if event.to_generation <= fold.generation:
        return fold
    return change(
        fold,
        generation=event.to_generation,
        endings={},
        open={key: entry for key, entry in fold.open.items() if key.startswith(LASTING)},
        episodes={key: count for key, count in fold.episodes.items() if key.startswith(LASTING)},
    )


def ended(fold: JobFold, now: datetime) -> JobFold:
    """Stop watching the job; what it leaves behind is small."""
    bare = JobFold(pool=fold.pool, job=fold.job, generation=fold.generation, dropped=fold.dropped)
    return forgetting.ended(bare, now)
