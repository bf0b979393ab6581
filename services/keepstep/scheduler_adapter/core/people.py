"""What people order: stop, delete, pause, resume, drain a node."""

from keepstep.contracts.events import ActionsPaused, ActionsResumed, JobStopRequested, TaskLost
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
    """From now on faults are recorded and nothing is planned; what is under way is finished."""
    if not turn.state.paused and turn.state.life is not Life.ABSENT:
        turn.put(paused=True)
        turn.say(ActionsPaused, subject=order.id, by=order.by)


def resume(turn: Turn, order: ResumeActions) -> None:
    """Act again, on what was recorded meanwhile too."""
    if turn.state.paused:
        turn.put(paused=False)
        turn.say(ActionsResumed, subject=order.id, by=order.by)


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
