"""What people order: stop, delete, pause, resume, drain a node."""

from keepstep.contracts.events import (
    ActionsPaused,
    ActionsResumed,
    CheckpointCommitted,
    JobFreed,
    JobHeld,
    JobStopRequested,
    TaskLost,
)
from keepstep.contracts.ids import NodeName
from keepstep.contracts.orders import DeleteJob, DrainNode, PauseActions, ResumeActions, StopJob
from keepstep.contracts.taxonomy import LossCause, Outcome
from keepstep.scheduler_adapter.core import draining, life
from keepstep.scheduler_adapter.core.ending import STOPPED, close_any, end
from keepstep.scheduler_adapter.core.recovery import Joining
from keepstep.scheduler_adapter.core.state import Drain, Life
from keepstep.scheduler_adapter.core.task import Task
from keepstep.scheduler_adapter.core.turn import Turn


def stop(turn: Turn, order: StopJob | DeleteJob) -> None:
    """Stop the job for good; an incident that is open ends with it."""
    if turn.state.life in (Life.ABSENT, Life.ENDING, Life.ENDED):
        return
    reason = order.reason if isinstance(order, StopJob) else "deleted"
    turn.say(JobStopRequested, subject=order.id, by=order.by, reason=reason)
    because = f"stopped by {order.by}" + (f": {reason}" if reason else "")
    close_any(turn, Outcome.JOB_GONE, because)
    end(turn, because, exit_code=STOPPED)


def pause(turn: Turn, order: PauseActions) -> None:
    """From now on faults are recorded and nothing is planned; what is under way is finished.

    The pool's own fold remembers since when all of its jobs are held, those that come later too.
    """
    if not turn.state.paused and (turn.state.job is None or turn.state.life is not Life.ABSENT):
        turn.put(paused=True, since=turn.now if turn.state.job is None else turn.state.since)
        turn.say(ActionsPaused, subject=order.id, by=order.by)


def resume(turn: Turn, order: ResumeActions) -> None:
    """Act again, on what was recorded meanwhile too."""
    if turn.state.paused:
        turn.put(paused=False, since=turn.now if turn.state.job is None else turn.state.since)
        turn.say(ActionsResumed, subject=order.id, by=order.by)
        _choose_anew(turn)


def hold(turn: Turn, _event: JobHeld) -> None:
    """The pool's pause reached this job."""
    turn.put(held=True)


def free(turn: Turn, _event: JobFreed) -> None:
    """The pool acts again; a pause of the job's own stays."""
    turn.put(held=False)
    _choose_anew(turn)


def _choose_anew(turn: Turn) -> None:
    """Wait once more for a checkpoint where one was committed since: the pause may have lasted for hours of steps.

    The checkpoint-manager answers the verdict again when it hears that the job goes on.
    """
    recovery, newest = turn.state.recovery, turn.state.checkpoint.step
    if recovery is None or not isinstance(recovery.stage, Joining) or turn.state.paused or turn.state.held:
        return
    known = recovery.checkpoint
    if known is not None and newest is not None and (known.step is None or newest > known.step):
        turn.recover(checkpoint=None, stage=Joining(since=turn.now))


def drain(turn: Turn, order: DrainNode) -> None:
    """Move the job's tasks off a node: planned, so each is replaced elsewhere and burns no budget.

    A job that saves waits for its next checkpoint, so that few steps are lost, but not for ever. Tasks that no level
    can move stay, which is told: nothing is wrong with the job.
    """
    over = turn.state.life in (Life.ABSENT, Life.ENDING, Life.ENDED)
    if over or order.node is None or not _there(turn, order.node):
        return
    wait = turn.spec.policy.recovery.drain_wait
    asked = Drain(node=order.node, by=order.by, reason=order.reason, until=turn.now + wait)
    if not wait or not _saves(turn) or draining.hindrance(turn, _there(turn, order.node)):
        _move(turn, asked)
    elif all(known.node != asked.node for known in turn.state.drains):
        turn.put(drains=(*turn.state.drains, asked))
        turn.why(f"{order.by} drains {order.node}: waits for the next checkpoint, {wait.total_seconds():g} s at most")


def _saves(turn: Turn) -> bool:
    """Return whether the job steps and has saved before, so that a checkpoint is to be expected."""
    state = turn.state
    return state.life is Life.RUNNING and state.recovery is None and state.checkpoint.step is not None


def commit_checkpoint(turn: Turn, event: CheckpointCommitted) -> None:
    """Note where to resume; tasks that waited for it to leave their node do so now."""
    life.commit_checkpoint(turn, event)
    move_drained(turn)


def move_drained(turn: Turn) -> None:
    """Move the tasks off every node that a person drains, whatever they waited for."""
    for asked in turn.state.drains:
        _move(turn, asked)
    turn.put(drains=())


def _move(turn: Turn, asked: Drain) -> None:
    tasks = _there(turn, asked.node)
    if tasks and (why := draining.hindrance(turn, tasks)):
        draining.decline(turn, asked, tasks, why)
        return
    for task in tasks:
        turn.say(
            TaskLost,
            subject=task.ref.uid,
            task=task.ref.uid,
            node=task.node,
            ref=task.ref,
            by=LossCause.DRAINED,
            proven=False,
            text=f"{asked.by} drains {asked.node}: {asked.reason}",
            at=turn.now,
        )
        turn.why(f"{asked.by} drains {asked.node}")


def _there(turn: Turn, node: NodeName) -> tuple[Task, ...]:
    return tuple(task for task in turn.state.tasks.values() if task.node == node and task.lost is None)
