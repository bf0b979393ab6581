"""The moments a fold waits for: a function of the fold alone, the same after a restart."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum

from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Level, Phase
from keepstep.core.decision import Deadline
from keepstep.scheduler_adapter.core.forgetting import KEPT, REMOVING
from keepstep.scheduler_adapter.core.life import look_due
from keepstep.scheduler_adapter.core.recovery import Joining, Recovery, Stepping, Stopping, Waiting
from keepstep.scheduler_adapter.core.state import JobState, Life


class Due(StrEnum):
    """Kinds of deadline; the text before the first slash of ``what``."""

    LOOK = "look"
    LAUNCH = "launch"
    PENDING = "pending"
    FINISH = "finish"
    DRAIN = "drain"
    END = "end"
    JOIN = "join"
    WAIT = "wait"
    STOP = "stop"
    FENCE = "fence"
    LEVEL = "level"
    ALIVE = "alive"
    REMOVE = "remove"
    FORGET = "forget"


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
    if state.job is None or state.forgotten or state.making is not None:
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
    for asked in state.drains:
        yield _due(Due.DRAIN, asked.until, asked.node)
    if state.finishing is not None and (recovery is None or isinstance(recovery.stage, Stepping)):
        yield _due(Due.FINISH, state.finishing + policy.finish_grace, state.generation)
    if recovery is not None:
        return
    if state.life is Life.PLACING and state.joined_at is not None and spec.checkpoint_dir is not None:
        yield _due(Due.LOOK, look_due(state.joined_at, spec))
    if state.suspended:
        return
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
            unsafe = [left for left in state.leaving if not left.safe]
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
    if isinstance(recovery.stage, Joining | Waiting) or state.shortage is not None or state.suspended:
        return
    if recovery.level is None or recovery.level_since is None:
        return
    limit = state.specified().policy.recovery.level_deadlines.get(recovery.level)
    if limit is not None:
        yield _due(Due.LEVEL, recovery.level_since + limit, recovery.to_generation, recovery.level)
