"""A recovery on its way: stopped everywhere, placed, started, stepping, resumed; and what passes its deadline."""

from keepstep.contracts.events import (
    Accounts,
    FirstStepDone,
    JobResumed,
    PlanApplied,
    RanksStarted,
    RecoveryStarted,
)
from keepstep.contracts.taxonomy import Applied, Outcome
from keepstep.core.accounting import Instants, Stages, account, step_seconds
from keepstep.core.sentences import counted
from keepstep.scheduler_adapter.core.ending import close_recovery
from keepstep.scheduler_adapter.core.life import all_exited_well, finish_if_done, placement, run_plan
from keepstep.scheduler_adapter.core.planning import plan, replan, resume
from keepstep.scheduler_adapter.core.recovery import Joining, Recovery, Starting, Stepping, Stopping, Waiting
from keepstep.scheduler_adapter.core.state import Life, Marks
from keepstep.scheduler_adapter.core.task import Leaving, Task
from keepstep.scheduler_adapter.core.turn import Turn


def advance_recovery(turn: Turn) -> None:
    """Take every step of the recovery that the fold now allows."""
    recovery = turn.state.recovery
    if recovery is None:
        return
    _note_bar(turn)
    match recovery.stage:
        case Joining() | Waiting() if recovery.untouched and all_exited_well(turn):
            close_recovery(turn, Outcome.CLEARED, "all ranks exited 0 before anything was done")
        case Joining() as stage:
            _join(turn, stage)
        case Stopping() as stage:
            _stop(turn, stage)
        case Starting():
            _start(turn)
        case Stepping():
            _step(turn)
        case Waiting():
            pass


def _join(turn: Turn, stage: Joining) -> None:
    if _decided(turn.recovery, stage) and not (turn.state.paused or turn.state.held):
        plan(turn)


def _decided(recovery: Recovery, stage: Joining) -> bool:
    """Return whether nothing is waited for before the plan, unless people hold the job."""
    return stage.overdue or (recovery.checkpoint is not None and recovery.fence is not None)


def _note_bar(turn: Turn) -> None:
    """Note from when until when nothing but a person's pause kept from planning."""
    recovery, stage = turn.recovery, turn.recovery.stage
    barred = isinstance(stage, Joining) and _decided(recovery, stage) and (turn.state.paused or turn.state.held)
    if barred and recovery.barred is None:
        turn.recover(barred=turn.now)
    elif not barred and recovery.barred is not None:
        turn.recover(barred=None, waits=(*recovery.waits, (recovery.barred, turn.now)))


def _stop(turn: Turn, stage: Stopping) -> None:
    """Start the new generation once every old rank is known to be gone and every task is placed."""
    generation = turn.recovery.to_generation
    unsafe = [left for left in turn.state.leaving if not left.safe]
    if not stage.announced or unconfirmed(turn):
        return
    if unsafe:
        _note_peers(turn, stage)
        return
    if all(task.joined for task in turn.state.tasks.values()):
        kept = tuple(left for left in turn.state.leaving if not (left.gone or left.released))
        turn.put(leaving=kept)
        run_plan(turn, generation, resume(turn))
        turn.recover(stage=Starting(since=turn.now))
        turn.why(f"all old ranks are gone and {counted(len(turn.state.tasks), 'task')} joined")


def unconfirmed(turn: Turn) -> list[Task]:
    """Return the tasks that stay and may still have ranks; one that stopped and never ran since has none."""
    return [task for task in turn.state.tasks.values() if not task.at_rest]


def _note_peers(turn: Turn, stage: Stopping) -> None:
    """From when all others had stopped, a silent task's own fence counts; a task without peers has none."""
    peers = any(task.ran > 0 for task in turn.state.tasks.values())
    peers = peers or any(left.safe for left in turn.state.leaving)
    if peers and stage.overdue and stage.peers_stopped is None:
        turn.recover(stage=stage.model_copy(update={"peers_stopped": turn.now}))


def _start(turn: Turn) -> None:
    generation = turn.recovery.to_generation
    if all(task.started >= generation for task in turn.state.tasks.values()):
        turn.recover(stage=Stepping(since=turn.now), started=turn.now)
        turn.say(RanksStarted, subject=str(generation), attempt=turn.recovery.attempt, placement=placement(turn))
        turn.why(f"{counted(len(turn.state.tasks), 'task')} started generation {generation}")
        _step(turn)


def _step(turn: Turn) -> None:
    generation = turn.recovery.to_generation
    if all(task.stepped >= generation for task in turn.state.tasks.values()):
        turn.put(instant_failures=0)
        total = len(turn.state.tasks)
        tasks = counted(total, "task", of=total)
        resumed(turn, f"the first step of generation {generation} is done by {tasks}")
    elif all_exited_well(turn):
        resumed(turn, "all ranks exited 0")


def resumed(turn: Turn, because: str) -> None:
    """Say that the job steps again, close the incident with its accounts, go back to running."""
    recovery, marks = turn.recovery, turn.state.marks
    lost = None if recovery.step is None else max(0, recovery.step - (resume(turn).step or 0))
    turn.say(
        JobResumed,
        subject=str(recovery.to_generation),
        attempt=recovery.attempt,
        level=recovery.level,
        step=marks.step if marks else None,
        lost_steps=lost,
        estimated=marks.estimated if marks else False,
        because=because,
    )
    close_recovery(turn, Outcome.RESUMED, because, _accounts(turn, lost))
    turn.put(life=Life.RUNNING, since=turn.now)
    turn.why(because)
    finish_if_done(turn)


def _accounts(turn: Turn, lost: int | None) -> Accounts:
    """Return where the time of the recovery went; ``lost`` counts steps, None where that is not known."""
    recovery, marks = turn.recovery, turn.state.marks
    instants = Instants(
        occurred=recovery.occurred,
        detected=recovery.detected,
        diagnosed=recovery.diagnosed,
        planned=recovery.planned or turn.now,
        started=recovery.started or turn.now,
        resumed=turn.now,
        waits=recovery.waits,
    )
    stages = Stages(
        init_s=marks.init_s if marks else 0.0,
        load_s=marks.load_s if marks else 0.0,
        first_step_s=marks.first_step_s if marks else 0.0,
        lost_steps=lost,
        step_s=turn.state.step_s,
        estimated=marks.estimated if marks else False,
    )
    return account(instants, stages)


def note_step_time(turn: Turn, fault_step: int | None) -> None:
    """Estimate seconds per step of the generation that just failed: from its first step to the fault."""
    marks, recovery = turn.state.marks, turn.recovery
    if marks is None:
        return
    per_step = step_seconds(marks.at, recovery.occurred, first=marks.step, last=fault_step)
    if per_step is not None:
        turn.put(step_s=per_step)
    elif turn.state.step_s is None and marks.first_step_s > 0:
        turn.put(step_s=marks.first_step_s)


def announce(turn: Turn, event: RecoveryStarted) -> None:
    """A stop plan is out: older generations are stale from here on, also when another plan has followed it."""
    turn.put(generation=max(turn.state.generation, event.to_generation))
    recovery = turn.state.recovery
    if recovery is None or not isinstance(recovery.stage, Stopping) or recovery.stage.announced:
        return
    if event.to_generation == recovery.to_generation:
        turn.recover(stage=recovery.stage.model_copy(update={"announced": True, "since": turn.now}))


def apply_plan(turn: Turn, event: PlanApplied) -> None:
    """Note what an agent made of a plan."""
    generation = event.generation or 0
    task = turn.state.named(event.task)
    if task is None:
        _note_left(turn, event, generation)
        return
    name = task.ref.name
    match event.applied:
        case Applied.STOPPED if event.unkillable:
            _note_unkillable(turn, task, event)
        case Applied.STOPPED if generation > task.stopped:
            turn.task(name, stopped=generation, ports=event.port_offers or task.ports)
        case Applied.STOPPED:
            pass
        case Applied.STARTED:
            turn.task(name, started=max(task.started, generation))
        case Applied.ENDED:
            turn.task(name, ended=True)
        case Applied.REFUSED:
            _note_refusal(turn, task, event)


def _note_left(turn: Turn, event: PlanApplied, generation: int) -> None:
    """A task that was replaced still confirms that its ranks are gone."""
    if event.unkillable or event.applied not in (Applied.STOPPED, Applied.ENDED):
        return

    def confirmed(left: Leaving) -> Leaving:
        stopped = max(left.stopped, generation)
        return left.model_copy(update={"stopped": stopped}) if left.ref.uid == event.task else left

    turn.put(leaving=tuple(confirmed(left) for left in turn.state.leaving))


def _note_unkillable(turn: Turn, task: Task, event: PlanApplied) -> None:
    """Ranks that survive SIGKILL hold their devices: the task is replaced, off that node."""
    if task.unfit:
        return
    turn.task(task.ref.name, unfit=f"cannot reap ranks {list(event.unkillable)}", stuck=True)
    if turn.state.recovery is not None and isinstance(turn.state.recovery.stage, Stopping):
        replan(turn, f"{task.ref.name} cannot reap ranks {list(event.unkillable)}")


def _note_refusal(turn: Turn, task: Task, event: PlanApplied) -> None:
    recovery = turn.state.recovery
    if recovery is None or not isinstance(recovery.stage, Starting) or event.generation != recovery.to_generation:
        return
    turn.task(task.ref.name, unfit=f"refused generation {event.generation}: {event.because}")
    replan(turn, f"{task.ref.name} refused generation {event.generation}: {event.because}")


def note_first_step(turn: Turn, event: FirstStepDone) -> None:
    """Note that a task steps in the current generation; the slowest task's times count."""
    task = turn.state.named(event.task)
    if task is None or event.generation != turn.state.generation or task.stepped >= event.generation:
        return
    turn.task(task.ref.name, stepped=event.generation)
    marks = turn.state.marks
    spent = event.init_s + event.load_s + event.first_step_s
    slower = marks is None or spent > marks.init_s + marks.load_s + marks.first_step_s
    latest = Marks(
        step=event.step if marks is None or marks.step is None else marks.step,
        estimated=event.estimated or (marks.estimated if marks else False),
        init_s=event.init_s if slower or marks is None else marks.init_s,
        load_s=event.load_s if slower or marks is None else marks.load_s,
        first_step_s=event.first_step_s if slower or marks is None else marks.first_step_s,
        at=turn.now,
    )
    turn.put(marks=latest, marking=True)
