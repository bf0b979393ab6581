"""Which tasks of a job run where, followed over its restarts: one fold for every service that must know."""

from typing import TypeVar

from pydantic import Field

from keepstep.contracts.events import JobStarted, RanksStarted, RecoveryPlanned, TaskJoined
from keepstep.contracts.ids import NodeName, TaskUid
from keepstep.contracts.model import Frozen
from keepstep.contracts.topology import TaskRef

MAX_REPLACED = 256
"""Uids of former tasks; a task older than that many replacements is long gone."""


class Seat(Frozen):
    """A task of the current placement."""

    ref: TaskRef
    node: NodeName
    ranks: tuple[int, ...] = ()


class Placement(Frozen):
    """The part of a job's fold that says who runs where."""

    nproc: int = 1
    """Ranks per task."""
    generation: int = 1
    tasks: dict[TaskUid, Seat] = Field(default_factory=dict)
    replaced: tuple[TaskUid, ...] = ()
    """Former tasks: what they still say is of no consequence."""


P = TypeVar("P", bound=Placement)


def joined(fold: P, event: TaskJoined) -> P:
    """Return the fold with the task in its place, a former incarnation of it out; the same fold if it comes too late.

    Its ranks follow from its index until a start of the ranks tells them.
    """
    ref = event.ref
    if ref.uid in fold.replaced or event.node is None:
        return fold
    known = fold.tasks.get(ref.uid)
    start = ref.index * fold.nproc
    ranks = known.ranks if known is not None else tuple(range(start, start + fold.nproc))
    former = tuple(uid for uid, other in fold.tasks.items() if other.ref.index == ref.index and uid != ref.uid)
    kept = without(fold, former)
    seat = Seat(ref=ref, node=event.node, ranks=ranks)
    return kept.model_copy(update={"tasks": {**kept.tasks, ref.uid: seat}})


def placed(fold: P, event: JobStarted | RanksStarted) -> P:
    """Return the fold with the placement of the generation that started; the same fold if that is an older one."""
    if event.generation is not None and event.generation < fold.generation:
        return fold
    tasks = {each.task.uid: Seat(ref=each.task, node=each.node, ranks=each.ranks) for each in event.placement}
    kept = without(fold, tuple(uid for uid in fold.tasks if uid not in tasks))
    return kept.model_copy(update={"tasks": tasks})


def planned(fold: P, event: RecoveryPlanned) -> P:
    """Return the fold without the tasks that will be replaced."""
    return without(fold, event.replace)


def without(fold: P, gone: tuple[TaskUid, ...]) -> P:
    """Return the fold in which these tasks are not placed any more and stay out."""
    fresh = tuple(uid for uid in gone if uid not in fold.replaced)
    tasks = {uid: seat for uid, seat in fold.tasks.items() if uid not in gone}
    return fold.model_copy(update={"tasks": tasks, "replaced": (*fold.replaced, *fresh)[-MAX_REPLACED:]})
