"""Pure decisions of this stage: one job's life and recoveries as a fold over its messages."""

from collections.abc import Callable
from datetime import datetime

from keepstep.contracts.events import (
    CheckpointChosen,
    CheckpointCommitted,
    DeadlinePassed,
    DeviceIsolated,
    FaultCleared,
    FaultDetected,
    FaultDiagnosed,
    FirstStepDone,
    IncidentClosed,
    IncidentOpened,
    IsolationDeclined,
    JobCreated,
    JobFailed,
    JobFinished,
    JobFound,
    JobFreed,
    JobHeld,
    JobWaiting,
    NodeIsolated,
    PlanApplied,
    RankExited,
    RecoveryStarted,
    RestartFailed,
    TaskJoined,
    TaskLost,
    TaskReleased,
)
from keepstep.contracts.message import POOL_KEY, Message
from keepstep.contracts.orders import CreateJob, DeleteJob, DrainNode, PauseActions, ResumeActions, StopJob
from keepstep.contracts.taxonomy import Level
from keepstep.core.decision import Decision
from keepstep.scheduler_adapter.core import accepting, controlled, ending, life, losses, people, progress, verdicts
from keepstep.scheduler_adapter.core.due import deadlines
from keepstep.scheduler_adapter.core.forgetting import over
from keepstep.scheduler_adapter.core.making import Ground
from keepstep.scheduler_adapter.core.overdue import pass_deadline
from keepstep.scheduler_adapter.core.state import JobState, Life
from keepstep.scheduler_adapter.core.turn import Turn
from keepstep.scheduler_adapter.core.wants import effects

__all__ = ["HEARS", "JobState", "deadlines", "decide", "effects", "fold_key", "over"]

REACTIONS: dict[type[Message], Callable[..., None]] = {
    CreateJob: accepting.create,
    JobCreated: accepting.created,
    JobFound: controlled.find,
    JobFinished: controlled.finish,
    JobFailed: controlled.disobey,
    RestartFailed: controlled.fail_restart,
    StopJob: people.stop,
    DeleteJob: people.stop,
    PauseActions: people.pause,
    ResumeActions: people.resume,
    JobHeld: people.hold,
    JobFreed: people.free,
    DrainNode: people.drain,
    TaskJoined: life.join_task,
    JobWaiting: controlled.wait,
    CheckpointCommitted: people.commit_checkpoint,
    RankExited: life.note_exit,
    PlanApplied: progress.apply_plan,
    FirstStepDone: progress.note_first_step,
    RecoveryStarted: progress.announce,
    IncidentOpened: verdicts.open_incident,
    IncidentClosed: verdicts.forget_opened,
    FaultDiagnosed: verdicts.hear_verdict,
    FaultCleared: verdicts.clear_fault,
    FaultDetected: life.note_silence,
    CheckpointChosen: verdicts.choose_checkpoint,
    NodeIsolated: verdicts.take_fence,
    DeviceIsolated: verdicts.take_fence,
    IsolationDeclined: verdicts.take_fence,
    TaskLost: losses.lose_task,
    TaskReleased: ending.release_task,
    DeadlinePassed: pass_deadline,
}
"""What each message does to the fold."""

HEARS: tuple[type[Message], ...] = tuple(REACTIONS)

RECENT = 64
"""Ids remembered: a repeat beyond the broker's own window comes within one outage's worth of messages of a job."""


def fold_key(message: Message) -> str | None:
    """Return the job's uid, or the pool for an order to all of its jobs; None for what else concerns no job.

    What became of an order is for the fold of the order.
    """
    if isinstance(message, JobCreated):
        return message.ordered.uid
    if message.job is None and isinstance(message, PauseActions | ResumeActions):
        return POOL_KEY
    return message.job.uid if message.job is not None else None


def decide(
    state: JobState | None,
    message: Message,
    now: datetime,
    *,
    supports: frozenset[Level] = frozenset(Level),
    ground: Ground | None = None,
) -> Decision[JobState]:
    """Return the next fold and what is to be said; ``supports`` is what the cluster can do.

    ``ground``: where orders make jobs of a cluster with job controllers; None where tasks are keepstep's own.
    """
    known = state or JobState(pool=message.pool, job=message.job, since=now)
    if message.id in known.recent:
        return Decision(known)
    turn = Turn(known, message, now, supports, ground)
    REACTIONS[type(message)](turn, message)
    if turn.state.life not in (Life.ABSENT, Life.ENDED):
        progress.advance_recovery(turn)
        life.advance_life(turn)
    turn.put(recent=(*turn.state.recent, message.id)[-RECENT:])
    return turn.decision()
