"""What people order: stop, delete, pause, resume, drain a node."""

from keepstep.contracts.events import ActionsPaused, ActionsResumed, JobFreed, JobHeld, JobStopRequested, TaskLost
from keepstep.contracts.orders import DeleteJob, DrainNode, PauseActions, ResumeActions, StopJob
from keepstep.contracts.taxonomy import LossCause, Outcome
from keepstep.scheduler_adapter.core.ending import close_any, end
from keepstep.scheduler_adapter.core.state import Life
from keepstep.scheduler_adapter.core.turn import Turn


def stop(turn: Turn, order: StopJob | DeleteJob) -> None:
    """Stop the job for good; an incident that is open ends with it."""
    if turn.state.life in (Life.ABSENT, Life.ENDING, Life.ENDED):
        return
    reason = order.reason if isinstance(order, StopJob) else "deleted"
    turn.say(JobStopRequested, subject=order.id, by=order.by, reason=reason)
    because = f"stopped by {order.by}" + (f": {reason}" if reason else "")
    close_any(turn, Outcome.JOB_GONE, because)
    end(turn, because)


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


def hold(turn: Turn, _event: JobHeld) -> None:
    """The pool's pause reached this job."""
    turn.put(held=True)


def free(turn: Turn, _event: JobFreed) -> None:
    """The pool acts again; a pause of the job's own stays."""
    turn.put(held=False)


def drain(turn: Turn, order: DrainNode) -> None:
    """Move the job's tasks off a node: they count as evicted, so each is replaced elsewhere and burns no budget."""
    for task in turn.state.tasks.values():
        if task.node == order.node and task.lost is None:
            turn.say(
                TaskLost,
                subject=task.ref.uid,
                task=task.ref.uid,
                node=task.node,
                ref=task.ref,
                by=LossCause.EVICTED,
                proven=False,
                text=f"{order.by} drains {order.node}: {order.reason}",
                at=turn.now,
            )
            turn.why(f"{order.by} drains {order.node}")
