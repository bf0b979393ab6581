"""What a fold waits for and what it wants done: functions of the fold alone, the same after a restart."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from keepstep.contracts.events import RecoveryStarted, TaskReleased
from keepstep.contracts.ids import EventId, NodeName, Pool, consequence_id, derive
from keepstep.contracts.model import Frozen
from keepstep.contracts.orders import PlanEntry, PlanHead
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Level, Phase, PlanPhase
from keepstep.contracts.topology import JobRef, TaskLaunch, TaskRef
from keepstep.core.decision import Deadline
from keepstep.scheduler_adapter.core.forgetting import KEPT, REMOVING, RemovePlan
from keepstep.scheduler_adapter.core.holding import KeepHeld
from keepstep.scheduler_adapter.core.life import look_due
from keepstep.scheduler_adapter.core.state import (
    JobState,
    Joining,
    Life,
    Recovery,
    Starting,
    Stepping,
    Stopping,
    Waiting,
)


class Due(StrEnum):
    """Kinds of deadline; the text before the first slash of ``what``."""

    LOOK = "look"
    LAUNCH = "launch"
    PENDING = "pending"
    FINISH = "finish"
    END = "end"
    JOIN = "join"
    WAIT = "wait"
    STOP = "stop"
    FENCE = "fence"
    LEVEL = "level"
    ALIVE = "alive"
    REMOVE = "remove"
    FORGET = "forget"


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
        return TaskReleased(
            id=consequence_id("TaskReleased", EventId(self.ref.uid), attempt=int(proven)),
            time=now,
            pool=self.pool,
            job=self.job,
            task=self.ref.uid,
            node=self.node,
            generation=self.generation,
            ref=self.ref,
            proven=proven,
        )


SchedulerEffect = PublishPlan | CreateTasks | DeleteTask | KeepHeld | RemovePlan


def effects(state: JobState) -> Iterable[SchedulerEffect]:
    """Return what is still to be done to the world for this job."""
    if state.job is None:
        yield KeepHeld(pool=state.pool, held=state.paused, since=state.since)
        return
    if state.removing:
        yield RemovePlan(job=state.job)
    if state.spec is None or state.life in (Life.ABSENT, Life.ENDED):
        return
    yield from _plans(state)
    yield from _creations(state)
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
        id=consequence_id("RecoveryStarted", recovery.cause, subject=state.plan_name(), attempt=recovery.attempt),
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
    if state.life is Life.ENDING and all(task.ended or not task.joined for task in state.tasks.values()):
        doomed += [(task.ref, task.node) for task in state.tasks.values()]
    grace = state.specified().policy.trainer.stop_grace
    for ref, node in doomed:
        yield DeleteTask(pool=state.pool, job=job, ref=ref, node=node, generation=state.generation, grace=grace)


def deadlines(state: JobState) -> Iterable[Deadline]:
    """Return the moments this job waits for."""
    for each in _deadlines(state):
        yield each.model_copy(update={"due": max(each.due, state.postponed.get(each.what, each.due))})


def _deadlines(state: JobState) -> Iterator[Deadline]:
    if state.spec is None or state.life in (Life.ABSENT, Life.ENDED):
        yield from _last_deadlines(state)
        return
    policy = state.spec.policy.recovery
    if state.life is Life.ENDING:
        if not all(task.ended for task in state.tasks.values()):
            yield _due(Due.END, state.since + policy.stop_deadline)
        return
    yield from _life_deadlines(state)
    if state.recovery is not None:
        yield from _stage_deadlines(state, state.recovery)
        yield from _level_deadline(state, state.recovery)


def _last_deadlines(state: JobState) -> Iterator[Deadline]:
    """Yield when a job that is over, or of which there never was more than a stray message, is forgotten."""
    if state.job is None or state.forgotten:
        return
    if state.plan is not None and not state.removing:
        yield _due(Due.REMOVE, state.since + KEPT)
    yield _due(Due.FORGET, state.since + KEPT + REMOVING)


def _due(kind: Due, due: datetime, *parts: object) -> Deadline:
    return Deadline(what="/".join([kind, *map(str, parts)]), due=due)


def _life_deadlines(state: JobState) -> Iterator[Deadline]:
    spec = state.specified()
    policy, recovery, shortage = spec.policy.recovery, state.recovery, state.shortage
    if shortage is not None and not shortage.final and (policy.pending == "fail" or policy.pending_limit is not None):
        yield _due(Due.PENDING, shortage.since + (policy.pending_limit or timedelta(0)))
    if state.finishing is not None and (recovery is None or isinstance(recovery.stage, Stepping)):
        yield _due(Due.FINISH, state.finishing + policy.finish_grace, state.generation)
    if recovery is not None:
        return
    if state.life is Life.PLACING and state.joined_at is not None and spec.checkpoint_dir is not None:
        yield _due(Due.LOOK, look_due(state.joined_at, spec))
    if state.life is Life.LAUNCHING or (state.life is Life.PLACING and shortage is None):
        yield _due(Due.LAUNCH, state.since + policy.level_deadlines[Level.JOB], state.life)


def _stage_deadlines(state: JobState, recovery: Recovery) -> Iterator[Deadline]:
    spec = state.specified()
    policy = spec.policy.recovery
    match recovery.stage:
        case Joining(since=since, overdue=False):
            yield _due(Due.JOIN, since + policy.join_deadline, recovery.cause)
        case Waiting(until=until):
            yield _due(Due.WAIT, until, recovery.cause)
        case Stopping(since=since, overdue=False, announced=True):
            yield _due(Due.STOP, since + policy.stop_deadline, recovery.to_generation, recovery.level)
        case Stopping(peers_stopped=peers) if peers is not None:
            unsafe = [left for left in state.leaving if not left.safe(recovery.to_generation)]
            if unsafe and all(left.stepped for left in unsafe):
                fence = max(fenced_after(spec.policy, left.phase) for left in unsafe) + policy.reissue_margin
                yield _due(Due.FENCE, peers + fence, recovery.to_generation)
        case Stepping(since=since) if not _marks(state) and all(exit_.success for exit_ in state.exits.values()):
            yield _due(Due.ALIVE, since + policy.resume_grace, recovery.to_generation)
        case _:
            pass


def fenced_after(policy: Policy, phase: Phase) -> timedelta:
    """Return how long ranks in this phase may outlive their peers before their own agent stops them."""
    after = policy.trainer.self_fence_after
    return after if phase is Phase.STEP else max(after, policy.detection.limit_of(phase))


def _marks(state: JobState) -> bool:
    """Tell whether first steps are to be expected: the job marked before, or torch is there to be hooked."""
    return state.marking or any(task.versions and task.versions.torch for task in state.tasks.values())


def _level_deadline(state: JobState, recovery: Recovery) -> Iterator[Deadline]:
    if isinstance(recovery.stage, Joining | Waiting) or state.shortage is not None:
        return
    if recovery.level is None or recovery.level_since is None:
        return
    limit = state.specified().policy.recovery.level_deadlines.get(recovery.level)
    if limit is not None:
        yield _due(Due.LEVEL, recovery.level_since + limit, recovery.to_generation, recovery.level)
