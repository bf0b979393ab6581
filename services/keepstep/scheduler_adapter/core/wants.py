"""What a fold wants done to the world: a function of the fold alone, the same after a restart."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Literal

from keepstep.contracts.events import RecoveryStarted, TaskReleased
from keepstep.contracts.ids import NodeName, Pool, consequence_id, derive
from keepstep.contracts.model import Frozen
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.taxonomy import Level, PlanPhase
from keepstep.contracts.topology import JobRef, TaskLaunch, TaskRef
from keepstep.scheduler_adapter.core.forgetting import RemovePlan
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.making import MakeJob
from keepstep.scheduler_adapter.core.recovery import Recovery, Starting, Stopping
from keepstep.scheduler_adapter.core.restarts import (
    EndJob,
    RestartTasks,
    Standing,
    all_ended,
    refused,
    released,
    restarts,
)
from keepstep.scheduler_adapter.core.state import JobState, Life


class PublishPlan(Frozen):
    """Put a plan on the board; ``announce`` is said when a stop plan is out."""

    kind: Literal["publish"] = "publish"
    head: PlanHead
    entries: tuple[PlanEntry, ...] = ()
    announce: RecoveryStarted | None = None

    @property
    def id(self) -> str:
        """The plan and what is said of it."""
        said = self.announce.id if self.announce else ""
        return f"plan/{self.head.job}/{self.head.generation}/{self.head.phase}/{derive(self.head.digest, said)}"


class CreateTasks(Frozen):
    """Place tasks together; nodes in ``avoid`` are never used, those in ``rather_not`` only where nothing else is."""

    kind: Literal["create"] = "create"
    launches: tuple[TaskLaunch, ...]
    avoid: tuple[NodeName, ...]
    rather_not: tuple[NodeName, ...]
    generation: int

    @property
    def pool(self) -> Pool:
        """The pool of all of them."""
        return self.launches[0].pool

    @property
    def job(self) -> JobRef:
        """The job of all of them."""
        return self.launches[0].job

    @property
    def id(self) -> str:
        """The tasks and where they may go."""
        uids = [launch.task.uid for launch in self.launches]
        return f"create/{self.launches[0].job.uid}/{derive(*uids, '/', *self.avoid, '/', *self.rather_not)}"


class DeleteTask(Frozen):
    """Take one task out of the cluster and say when it is gone."""

    kind: Literal["delete"] = "delete"
    pool: Pool
    job: JobRef
    ref: TaskRef
    node: NodeName | None
    generation: int
    grace: timedelta

    @property
    def id(self) -> str:
        """The task's uid: it is taken out once."""
        return f"delete/{self.job.uid}/{self.ref.uid}"

    def released(self, now: datetime, *, proven: bool) -> TaskReleased:
        """Return what is said when the task is gone; the same whoever sees it."""
        there = Standing(ref=self.ref, node=self.node)
        return released(self.pool, self.job, self.generation, there, now=now, proven=proven)


SchedulerEffect = PublishPlan | CreateTasks | DeleteTask | RestartTasks | EndJob | KeepHeld | RemovePlan | MakeJob


def effects(state: JobState) -> Iterable[SchedulerEffect]:
    """Return what is still to be done to the world for this job."""
    if state.job is None:
        yield KeepHeld.of(state)
        return
    if state.making is not None:
        yield MakeJob(pool=state.pool, job=state.job, making=state.making)
    if state.removing:
        yield RemovePlan(job=state.job)
    if state.revived and state.controlled is not None:
        yield EndJob(pool=state.pool, job=state.job, generation=state.generation, again=state.controlled.word)
    if (word := refused(state)) is not None and not (state.paused or state.held):
        yield EndJob(pool=state.pool, job=state.job, generation=state.generation, again=word, refused=True)
    if state.spec is None or state.life in (Life.ABSENT, Life.ENDED):
        return
    yield from _plans(state)
    yield from _creations(state)
    if state.controlled is not None:
        yield from restarts(state, state.job)
    else:
        yield from _deletions(state, state.job)


def _plans(state: JobState) -> Iterator[PublishPlan]:
    head, recovery = state.plan, state.recovery
    if head is None:
        return
    match head.phase:
        case PlanPhase.STOP:
            if recovery is not None and isinstance(recovery.stage, Stopping):
                yield PublishPlan(head=head, announce=_announcement(state, recovery))
        case PlanPhase.RUN:
            starting = recovery is not None and isinstance(recovery.stage, Starting)
            if state.life is Life.LAUNCHING or starting:
                yield PublishPlan(head=head, entries=state.entries(head.generation))
        case PlanPhase.END:
            yield PublishPlan(head=head)


def _announcement(state: JobState, recovery: Recovery) -> RecoveryStarted:
    level = recovery.level or Level.IN_PLACE
    return RecoveryStarted(
        id=consequence_id(
            "RecoveryStarted", recovery.cause, subject=str(recovery.to_generation), attempt=recovery.attempt
        ),
        time=recovery.level_since or state.since,
        pool=state.pool,
        job=state.job,
        generation=recovery.from_generation,
        incident=recovery.incident,
        cause=recovery.cause,
        attempt=recovery.attempt,
        level=level,
        from_generation=recovery.from_generation,
        to_generation=recovery.to_generation,
    )


def _creations(state: JobState) -> Iterator[CreateTasks]:
    if state.life is Life.ENDING or not _may_create(state):
        return
    missing = [task for task in state.tasks.values() if not task.joined and task.lost is None]
    if not missing or state.spec is None or state.job is None:
        return
    births = {task.born for task in missing}
    spec = state.spec.for_tasks()
    launches = tuple(
        TaskLaunch(pool=state.pool, job=state.job, task=task.ref, spec=spec)
        for task in state.tasks.values()
        if task.born in births
    )
    soft = state.recovery.soft_avoid if state.recovery else ()
    yield CreateTasks(launches=launches, avoid=state.avoid, rather_not=soft, generation=state.generation)


def _may_create(state: JobState) -> bool:
    """Replacements wait until their predecessors have left, so that those do not take the room; not for ever."""
    if state.recovery is None:
        return True
    stage = state.recovery.stage
    if not isinstance(stage, Stopping):
        return False
    return stage.overdue or all(left.gone or left.released for left in state.leaving)


def _deletions(state: JobState, job: JobRef) -> Iterator[DeleteTask]:
    stage = state.recovery.stage if state.recovery else None
    announced = not isinstance(stage, Stopping) or stage.announced
    doomed = [(left.ref, left.node) for left in state.leaving if announced and not (left.gone or left.released)]
    if all_ended(state):
        doomed += [(task.ref, task.node) for task in state.tasks.values()]
    grace = state.specified().policy.trainer.stop_grace
    for ref, node in doomed:
        yield DeleteTask(pool=state.pool, job=job, ref=ref, node=node, generation=state.generation, grace=grace)
