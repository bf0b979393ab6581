"""Following a job's life: which generation, which tasks, on which nodes. Says nothing."""

from datetime import datetime

from keepstep.contracts.events import (
    JobAccepted,
    JobStarted,
    RanksStarted,
    RecoveryPlanned,
    RecoveryStarted,
    TaskJoined,
)
from keepstep.contracts.ids import TaskUid
from keepstep.detector.core.state import MAX_REPLACED, JobFold, TaskView, change, dropped

SILENT = "silent/"
DEVICE = "device/"
LASTING = (SILENT, DEVICE)
"""Open faults with these keys outlive a generation: a new start of the ranks does not mend them."""


def accepted(fold: JobFold, event: JobAccepted) -> JobFold:
    """Take over what the job's specification says about detection."""
    return change(fold, policy=event.spec.policy.detection, nproc=event.spec.nproc)


def joined(fold: JobFold, event: TaskJoined) -> JobFold:
    """Place the task; a former incarnation of the same index is replaced by it, a replaced one stays out."""
    ref = event.ref
    if ref.uid in fold.replaced or event.node is None:
        return dropped(fold)
    known = fold.tasks.get(ref.uid)
    start = ref.index * fold.nproc
    view = TaskView(
        ref=ref,
        node=event.node,
        ranks=known.ranks if known is not None else tuple(range(start, start + fold.nproc)),
    )
    former = tuple(uid for uid, other in fold.tasks.items() if other.ref.index == ref.index and uid != ref.uid)
    fold = without(fold, former)
    return change(fold, tasks={**fold.tasks, ref.uid: view})


def placed(fold: JobFold, event: JobStarted | RanksStarted) -> JobFold:
    """Take over who runs where in the generation that started."""
    if event.generation is not None and event.generation < fold.generation:
        return dropped(fold)
    tasks = {entry.task.uid: TaskView(ref=entry.task, node=entry.node, ranks=entry.ranks) for entry in event.placement}
    fold = without(fold, tuple(uid for uid in fold.tasks if uid not in tasks))
    return change(fold, tasks=tasks)


def planned(fold: JobFold, event: RecoveryPlanned) -> JobFold:
    """Forget the tasks that will be replaced: what they still say is of no consequence."""
    return without(fold, event.replace)


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
    return change(bare, ended=True, ended_at=now)


def without(fold: JobFold, gone: tuple[TaskUid, ...]) -> JobFold:
    """Return the fold in which these tasks are not placed any more."""
    fresh = tuple(uid for uid in gone if uid not in fold.replaced)
    keys = {SILENT + uid for uid in gone}
    return change(
        fold,
        tasks={uid: view for uid, view in fold.tasks.items() if uid not in gone},
        replaced=(*fold.replaced, *fresh)[-MAX_REPLACED:],
        lost=tuple(uid for uid in fold.lost if uid not in gone),
        open={key: entry for key, entry in fold.open.items() if key not in keys},
        episodes={key: count for key, count in fold.episodes.items() if key not in keys},
    )
