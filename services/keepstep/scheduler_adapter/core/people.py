"""What people order: stop, delete, pause, resume."""

from keepstep.contracts.events import ActionsPaused, ActionsResumed, JobStopRequested
from keepstep.contracts.orders import DeleteJob, PauseActions, ResumeActions, StopJob
from keepstep.contracts.taxonomy import Outcome
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
