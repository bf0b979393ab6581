"""What a passed deadline means; the deadlines themselves are functions of the fold in ``wants``."""

from datetime import timedelta

from keepstep.contracts.events import DeadlinePassed
from keepstep.contracts.taxonomy import Category, Level
from keepstep.core.levels import choose
from keepstep.core.sentences import counted
from keepstep.scheduler_adapter.core.due import Due, deadlines
from keepstep.scheduler_adapter.core.ending import fail
from keepstep.scheduler_adapter.core.life import advance_life, finish_overdue
from keepstep.scheduler_adapter.core.people import move_drained
from keepstep.scheduler_adapter.core.planning import give_up_level, replan
from keepstep.scheduler_adapter.core.progress import resumed, unconfirmed
from keepstep.scheduler_adapter.core.recovery import Joining, Stepping, Stopping
from keepstep.scheduler_adapter.core.situation import situation
from keepstep.scheduler_adapter.core.turn import Turn

UNSEEN = timedelta(seconds=2)
"""A deadline that is said this long after its moment passed during an outage or while no scheduler-adapter ran."""
ANSWERED = frozenset({Due.LAUNCH, Due.FINISH, Due.END, Due.JOIN, Due.STOP, Due.LEVEL, Due.ALIVE})
"""Deadlines of those who are to say something; the others only let time pass."""
POSTPONED = 16
"""Postponed deadlines kept: a recovery has about five, and older ones are over."""


def pass_deadline(turn: Turn, event: DeadlinePassed) -> None:
    """Decide on a deadline that the fold still waits for; any other is late and changes nothing."""
    if not any(each.what == event.what and each.due == event.due for each in deadlines(turn.state)):
        return
    kind = Due(event.what.split("/", 1)[0])
    late = turn.now - event.due
    if kind in ANSWERED and late > UNSEEN and event.what not in turn.state.postponed:
        _postpone(turn, event.what, late)
        return
    turn.why(f"{event.what} was due {event.due.isoformat(timespec='milliseconds')}")
    match kind:
        case Due.LOOK:
            advance_life(turn, looked=True)
        case Due.LAUNCH:
            _fail_launch(turn)
        case Due.PENDING:
            _stay_pending(turn)
        case Due.DRAIN | Due.FINISH:
            (move_drained if kind is Due.DRAIN else finish_overdue)(turn)
        case Due.END:
            tasks = {name: task.model_copy(update={"ended": True}) for name, task in turn.state.tasks.items()}
            turn.put(tasks=tasks)
        case Due.REMOVE | Due.FORGET:
            turn.put(removing=kind is Due.REMOVE, forgotten=kind is Due.FORGET)
        case Due.JOIN | Due.WAIT | Due.STOP | Due.FENCE | Due.LEVEL | Due.ALIVE as due:
            _pass_in_recovery(turn, due)


def _postpone(turn: Turn, what: str, late: timedelta) -> None:
    """Wait once more: who was to answer may have been cut off too, and has until the stop deadline to catch up.

    Once for each deadline, so that a clock that differs from the bus's for good delays it and no more.
    """
    again = turn.now + turn.spec.policy.recovery.stop_deadline
    turn.put(postponed=dict([*turn.state.postponed.items(), (what, again)][-POSTPONED:]))
    turn.why(f"{what} was due {late.total_seconds():.1f} s ago, when nobody could be heard: it waits once more")


def _pass_in_recovery(turn: Turn, due: Due) -> None:
    stage, level = turn.recovery.stage, turn.recovery.level
    match due:
        case Due.JOIN if isinstance(stage, Joining):
            turn.recover(stage=stage.model_copy(update={"overdue": True}))
        case Due.WAIT:
            give_up_level(turn, "the fault did not clear by itself")
        case Due.STOP if isinstance(stage, Stopping):
            _stop_overdue(turn, stage)
        case Due.FENCE:
            leaving = tuple(left.model_copy(update={"fenced": True}) for left in turn.state.leaving)
            turn.put(leaving=leaving)
        case Due.ALIVE:
            _alive(turn, turn.spec.policy.recovery.resume_grace)
        case Due.LEVEL if level is not None:
            _level_overdue(turn, level)


def _stop_overdue(turn: Turn, stage: Stopping) -> None:
    """A task that has not confirmed its stop by now cannot be counted on: it is replaced."""
    silent = unconfirmed(turn)
    if not silent:
        turn.recover(stage=stage.model_copy(update={"overdue": True}))
        return
    limit = turn.spec.policy.recovery.stop_deadline.total_seconds()
    for task in silent:
        turn.task(task.ref.name, unfit=f"did not confirm its stop within {limit:g} s")
    names = ", ".join(task.ref.name for task in silent)
    replan(turn, f"{names} silent for {limit:g} s")


def _level_overdue(turn: Turn, level: Level) -> None:
    """No first step in time: the next level, unless the job was never seen to mark one and its ranks live."""
    limit = turn.spec.policy.recovery.level_deadlines[level]
    if isinstance(turn.recovery.stage, Stepping) and not turn.state.marking and _all_live(turn):
        _alive(turn, limit)
    else:
        give_up_level(turn, f"{level} did not bring a first step within {limit}")


def _alive(turn: Turn, lived: timedelta) -> None:
    """A job without marks counts as resumed when no rank has failed for that long."""
    if _all_live(turn):
        resumed(turn, f"the job gives no marks and all ranks lived {lived.total_seconds():g} s")


def _all_live(turn: Turn) -> bool:
    return all(exit_.success for exit_ in turn.state.exits.values())


def _fail_launch(turn: Turn) -> None:
    started = sum(task.started >= turn.state.generation for task in turn.state.tasks.values())
    joined = sum(task.joined for task in turn.state.tasks.values())
    total = len(turn.state.tasks)
    fail(turn, Category.UNKNOWN, f"{counted(joined, 'task', of=total)} joined and {started} started in time")


def _stay_pending(turn: Turn) -> None:
    """No room past the limit: the next level if there is one, else what ``recovery.pending`` says."""
    shortage, pending = turn.state.shortage, turn.spec.policy.recovery.pending
    because = shortage.because if shortage else "no room"
    recovery = turn.state.recovery
    if recovery is None or recovery.level is None:
        fail(turn, Category.UNKNOWN, f"cannot be placed: {because}")
        return
    tried = recovery.failed | {recovery.level}
    turn.recover(failed=tried)
    onward = choose(situation(turn)).level is not Level.FAIL
    turn.recover(failed=recovery.failed)
    if onward or pending == "fail":
        give_up_level(turn, f"no room: {because}")
    elif shortage is not None:
        turn.put(shortage=shortage.model_copy(update={"final": True}))
