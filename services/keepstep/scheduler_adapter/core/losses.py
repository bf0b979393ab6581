"""Tasks that the cluster says are gone: which of them concern the job, and what follows."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cached_property

from keepstep.contracts.events import TaskLost, TaskReleased
from keepstep.contracts.ids import EventId, TaskUid, consequence_id
from keepstep.contracts.taxonomy import Category, LossCause
from keepstep.contracts.topology import JobRef
from keepstep.ports.cluster import TaskPhase, TaskStatus
from keepstep.scheduler_adapter.core.counting import explain
from keepstep.scheduler_adapter.core.ending import fail
from keepstep.scheduler_adapter.core.planning import BLAMELESS, replan, successor
from keepstep.scheduler_adapter.core.recovery import Stopping
from keepstep.scheduler_adapter.core.restarts import Standing, released
from keepstep.scheduler_adapter.core.state import JobState, Life
from keepstep.scheduler_adapter.core.task import Loss, Task
from keepstep.scheduler_adapter.core.turn import Turn

STILLBORN_TRIES = 3
"""Tasks that end before they join, in a row: a missing interpreter or a broken image does not heal."""


def observe(state: JobState, status: TaskStatus, now: datetime) -> tuple[TaskLost | TaskReleased, ...]:
    """Return what a GONE in the cluster's watch means for the job: usually nothing or one word.

    A loss is said once, with or without proof that the processes are dead; proof that comes later is a word of its
    own. Where both are returned, the second is for whoever has said the first already, before the fold shows it.
    """
    return Meaning(state).of(status, now)


class Meaning:
    """What statuses mean for one job while its fold stays as it is: thousands are each looked up, not sought."""

    def __init__(self, state: JobState) -> None:
        self.state = state

    def of(self, status: TaskStatus, now: datetime) -> tuple[TaskLost | TaskReleased, ...]:
        """Return what ``observe`` does."""
        state = self.state
        if status.phase is not TaskPhase.GONE or state.job is None or state.life in (Life.ABSENT, Life.ENDED):
            return ()
        task = state.current(status.ref)
        if task is not None and state.life is not Life.ENDING:
            return tuple(_lost(state, state.job, task, status, now))
        if not status.proven or (task is None and status.ref.uid not in self._leaving):
            return ()
        return (_proof(state, state.job, status, now),)

    @cached_property
    def _leaving(self) -> frozenset[TaskUid]:
        return frozenset(left.ref.uid for left in self.state.leaving if not left.gone)


def _proof(state: JobState, job: JobRef, status: TaskStatus, now: datetime) -> TaskReleased:
    """Return that a task which is lost, or which keepstep takes out, is dead."""
    there = Standing(ref=status.ref, node=status.node)
    return released(state.pool, job, state.generation, there, now=now, proven=True)


def _lost(
    state: JobState, job: JobRef, task: Task, status: TaskStatus, now: datetime
) -> Iterator[TaskLost | TaskReleased]:
    if _finished(state, task):
        return
    if task.lost is None:
        yield TaskLost(
            id=consequence_id("TaskLost", EventId(task.ref.uid)),
            time=now,
            pool=state.pool,
            job=job,
            task=task.ref.uid,
            node=status.node or task.node,
            generation=state.generation,
            ref=task.ref,
            by=status.by or LossCause.UNKNOWN,
            proven=status.proven,
            text=status.text,
            at=min(status.at or now, now),
        )
    if status.proven and not task.dead:
        yield _proof(state, job, status, now)


def _finished(state: JobState, task: Task) -> bool:
    """Tell whether all ranks of the task exited 0: its pod may go."""
    ranks = state.specified().ranks_of(task.ref.index)
    return all(rank in state.exits and state.exits[rank].success for rank in ranks)


def missing(state: JobState, listed: frozenset[TaskUid]) -> tuple[TaskStatus, ...]:
    """Return what a listing of the cluster lacks of this job's placement: gone, by nobody knows whom, unproven."""
    if state.job is None:
        return ()
    job = state.job.uid
    return tuple(
        TaskStatus(
            job=job,
            ref=task.ref,
            phase=TaskPhase.GONE,
            node=task.node,
            by=LossCause.UNKNOWN,
            text="missing from the cluster's listing",
        )
        for task in state.tasks.values()
        if task.joined and task.ref.uid not in listed
    )


def orphans(state: JobState, listing: Iterable[TaskStatus]) -> tuple[TaskStatus, ...]:
    """Return the tasks of a job that live and that it does not count on.

    Such is a creation that was overtaken by the job's end or a new plan. Where a controller makes the pods, it would
    make the next one at once: there the job is restarted or ended as one.
    """
    if state.controlled is not None or state.life is Life.ABSENT:
        return ()
    counted = {task.ref.uid for task in state.tasks.values()} | {left.ref.uid for left in state.leaving}
    return tuple(one for one in listing if one.phase is not TaskPhase.GONE and one.ref.uid not in counted)


def lose_task(turn: Turn, event: TaskLost) -> None:
    """Note the loss. The verdict on it will come and isolate what is to blame; only a plan that stops is mended now.

    A task that is lost while the others are being stopped joins their plan, with no generation between.
    """
    _note_left(turn, event)
    task = turn.state.current(event.ref)
    if task is None or turn.state.life in (Life.ENDING, Life.ENDED) or _finished(turn.state, task):
        return
    if not task.joined:
        _replace_stillborn(turn, task, event)
        return
    first = task.lost is None
    if first:
        explain(turn, task, event.by)
    turn.task(task.ref.name, lost=Loss(by=event.by, proven=event.proven or task.dead))
    recovery = turn.state.recovery
    if recovery is not None and first and isinstance(recovery.stage, Stopping):
        replan(turn, f"{task.ref.name} was lost ({event.by})")


def _note_left(turn: Turn, event: TaskLost) -> None:
    """Proof of death of a task that was replaced meanwhile."""
    if event.proven:
        leaving = tuple(
            left.model_copy(update={"gone": True}) if left.ref.uid == event.ref.uid else left
            for left in turn.state.leaving
        )
        turn.put(leaving=leaving)


def _replace_stillborn(turn: Turn, task: Task, event: TaskLost) -> None:
    """A task that ended before it joined never had ranks: it is made anew, a few times."""
    count = turn.state.stillborn + (0 if event.by in BLAMELESS else 1)
    turn.put(stillborn=count)
    if count >= STILLBORN_TRIES:
        because = f"{count} tasks in a row ended before they joined, the last was {task.ref.name}: {event.text}"
        fail(turn, Category.UNKNOWN, because, last_line=event.text)
        return
    turn.put(tasks=turn.state.tasks | {task.ref.name: successor(turn, task, task.born)})
    turn.why(f"{task.ref.name} ended before it joined ({event.by}): made anew")
