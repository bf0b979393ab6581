"""What a job's own controller does to its life: found, finished, unable to restart."""

from typing import assert_never

from keepstep.contracts.events import (
    Finish,
    JobFailed,
    JobFinished,
    JobFound,
    JobStopRequested,
    JobSucceeded,
    JobWaiting,
    RestartFailed,
)
from keepstep.contracts.taxonomy import Category, Outcome
from keepstep.scheduler_adapter.core.accepting import accept
from keepstep.scheduler_adapter.core.ending import STOPPED, close_any, end, fail
from keepstep.scheduler_adapter.core.life import clocks_anew, wait_for_room
from keepstep.scheduler_adapter.core.planning import give_up_level
from keepstep.scheduler_adapter.core.recovery import Stopping
from keepstep.scheduler_adapter.core.sightings import found, suspended, unbegun
from keepstep.scheduler_adapter.core.state import Life, Unobeyed
from keepstep.scheduler_adapter.core.turn import Turn


def find(turn: Turn, event: JobFound) -> None:
    """Accept a job that a cluster's object asks for, or take over what its controller allows by now."""
    if event.job is None:
        return
    if turn.state.life in (Life.ENDING, Life.ENDED) and not unbegun(turn.state):
        _revive(turn, event)
        return
    if unbegun(turn.state):
        turn.put(life=Life.ABSENT, unobeyed=None)
        warnings = tuple(f"no level {each.level}: {each.because}; {each.remedy}" for each in event.refusals)
        accept(turn, event.job.uid, event.spec, warnings=warnings)
    if turn.state.suspended:
        clocks_anew(turn)
        turn.why(f"{event.kind} goes on")
    turn.put(controlled=found(event))


def _revive(turn: Turn, event: JobFound) -> None:
    """A job that ended and was resumed: its pods would wait for tasks for ever, so it is put down and told."""
    if turn.state.life is not Life.ENDED or not event.resumed:
        return
    turn.put(controlled=found(event), revived=True)
    because = f"{event.kind} was resumed after its end, which keepstep does not undo: it is put down; create it anew"
    turn.say(JobWaiting, because=because)
    turn.why(because)


def wait(turn: Turn, event: JobWaiting) -> None:
    """Note that the cluster has no room, or that somebody suspended the job, which then waits for him alone.

    One that runs on lacks nothing.
    """
    if event.runs:
        return
    if not event.suspended:
        wait_for_room(turn, event)
    elif turn.state.unobeyed is not None:
        turn.put(unobeyed=turn.state.unobeyed.model_copy(update={"down": True, "word": event.id}))
        turn.why(event.because)
    elif turn.state.controlled is not None:
        turn.put(controlled=suspended(turn.state.controlled, event), revived=False, shortage=None)
        turn.why(event.because)


def disobey(turn: Turn, event: JobFailed) -> None:
    """Take a job that cannot be obeyed for over: nobody is told again, and it is forgotten in time."""
    if turn.state.order is not None:
        if turn.state.making is not None:
            turn.put(making=None, life=Life.ENDED, since=turn.now)
    elif unbegun(turn.state):
        turn.put(life=Life.ENDED, since=turn.now, unobeyed=Unobeyed(because=event.because, word=event.id))


def finish(turn: Turn, event: JobFinished) -> None:
    """End a job that its controller ended, or whose object somebody deleted."""
    if turn.state.life in (Life.ABSENT, Life.ENDING, Life.ENDED):
        return
    match event.how:
        case Finish.SUCCEEDED:
            close_any(turn, Outcome.CLEARED, event.because)
            steps = [exit_.step for exit_ in turn.state.exits.values() if exit_.step is not None]
            turn.say(JobSucceeded, step=max(steps, default=None))
            end(turn, event.because)
        case Finish.FAILED:
            recovery = turn.state.recovery
            fail(turn, recovery.verdict.category if recovery else Category.UNKNOWN, event.because)
        case Finish.DELETED:
            turn.say(JobStopRequested, subject=event.id, by="the cluster", reason=event.because)
            close_any(turn, Outcome.JOB_GONE, event.because)
            end(turn, event.because, exit_code=STOPPED)
        case other:
            assert_never(other)


def fail_restart(turn: Turn, event: RestartFailed) -> None:
    """The controller cannot do what the plan under way asks for: the next level; of an older plan, nothing."""
    recovery = turn.state.recovery
    if recovery is None or not isinstance(recovery.stage, Stopping):
        return
    if (recovery.to_generation, recovery.level) == (event.to_generation, event.level):
        give_up_level(turn, event.because)
