"""From a joined verdict to the plan of the next generation: which level, who is replaced, which nodes are avoided."""

from datetime import timedelta

from keepstep.contracts.events import RecoveryFailed, RecoveryPlanned
from keepstep.contracts.ids import NodeName, task_uid
from keepstep.contracts.orders import PlanHead
from keepstep.contracts.taxonomy import Level, LossCause, PlanPhase
from keepstep.contracts.topology import TaskRef
from keepstep.core.backoff import backoff
from keepstep.core.budgets import class_of
from keepstep.core.levels import Choice, choose
from keepstep.scheduler_adapter.core.counting import burn
from keepstep.scheduler_adapter.core.ending import fail
from keepstep.scheduler_adapter.core.recovery import Checkpoint, Stopping, Waiting
from keepstep.scheduler_adapter.core.situation import blamed, charged, replaced, situation
from keepstep.scheduler_adapter.core.task import Leaving, Task
from keepstep.scheduler_adapter.core.turn import Turn

ORDINARY = timedelta(hours=1)
"""Window of classes without a budget: used for the back-off of storage faults alone."""

BLAMELESS = frozenset(
    {LossCause.DELETED, LossCause.EVICTED, LossCause.PREEMPTED, LossCause.DRAINED, LossCause.NODE_LOST}
)
"""Losses that say nothing against using the node once it is ready again."""


def plan(turn: Turn) -> None:
    """Choose the level of the recovery under way and put it in motion."""
    choice = choose(situation(turn))
    burn(turn)
    match choice.level:
        case Level.FAIL:
            verdict = turn.recovery.verdict
            why = "; ".join(filter(None, (choice.because, turn.recovery.gave_up)))
            fail(turn, verdict.category, f"{why}: {verdict.because}", last_line=verdict.signature)
        case Level.WAIT:
            _wait(turn, choice)
        case Level.IN_PLACE | Level.POD | Level.JOB:
            _execute(turn, choice)


def give_up_level(turn: Turn, because: str) -> None:
    """Say that the level did not help, and plan the next one, without the culprit."""
    _fail_level(turn, because)
    turn.recover(condemned=True)
    plan(turn)


def replan(turn: Turn, because: str) -> None:
    """Give the plan up because a task can no longer be kept, and plan again; in place is no choice after that.

    A stronger level may be taken once more: it did not fail to help, it has more tasks to replace than it knew.
    """
    if turn.recovery.level is Level.IN_PLACE:
        _fail_level(turn, because)
    else:
        say_failed(turn, because)
        turn.why(because)
    plan(turn)


def _fail_level(turn: Turn, because: str) -> None:
    recovery = turn.recovery
    if recovery.level is not None:
        say_failed(turn, because)
        turn.recover(failed=recovery.failed | {recovery.level}, gave_up=f"{recovery.level} was given up: {because}")
    turn.why(because)


def say_failed(turn: Turn, because: str) -> None:
    """Say that the plan under way did not bring the job back, once for each plan."""
    recovery, level = turn.recovery, turn.recovery.level
    if level is not None:
        subject = f"{level}/{recovery.to_generation}"
        turn.say(RecoveryFailed, subject=subject, attempt=recovery.attempt, level=level, because=because)


def _wait(turn: Turn, choice: Choice) -> None:
    recovery, state = turn.recovery, turn.state
    tries = state.ledger.give_back(charged(turn)).used(class_of(recovery.verdict), turn.now, ORDINARY)
    limit = turn.spec.policy.recovery.level_deadlines[Level.WAIT]
    until = turn.now + backoff(tries, limit=limit)
    _take(turn, Level.WAIT, Waiting(until=until))
    _announce(turn, choice, to_generation=recovery.from_generation)


def _execute(turn: Turn, choice: Choice) -> None:
    """Move the tasks to be replaced out, their successors in, and put out the stop plan."""
    generation = turn.state.following
    names = _names(turn, choice.level)
    _avoid(turn, names)
    leavers = tuple(turn.state.tasks[name].ref.uid for name in sorted(names))
    for name in sorted(names):
        _replace(turn, name, generation)
    turn.recover(to_generation=generation)
    _take(turn, choice.level, Stopping(since=turn.now))
    turn.put(shortage=None, plan=_stop_plan(turn, generation))
    _announce(turn, choice, to_generation=generation, leavers=leavers)


def _names(turn: Turn, level: Level) -> frozenset[str]:
    if level is Level.JOB:
        return frozenset(turn.state.tasks)
    return replaced(turn.state, turn.recovery, situation(turn)) if level is Level.POD else frozenset()


def _take(turn: Turn, level: Level, stage: Waiting | Stopping) -> None:
    chain = turn.recovery.chain
    if not chain or chain[-1] is not level:
        chain = (*chain, level)
    planned = turn.recovery.planned or turn.now
    turn.recover(level=level, level_since=turn.now, chain=chain, stage=stage, planned=planned, started=None)


def _announce(turn: Turn, choice: Choice, *, to_generation: int, leavers: tuple[str, ...] = ()) -> None:
    recovery = turn.recovery
    turn.say(
        RecoveryPlanned,
        subject=f"{choice.level}/{to_generation}",
        attempt=recovery.attempt,
        level=choice.level,
        to_generation=to_generation,
        replace=leavers,
        expected=tuple(task.ref for task in turn.state.tasks.values()),
        avoid=turn.state.avoid + recovery.soft_avoid,
        resume_step=resume(turn).step,
        because=choice.because,
    )
    turn.why(choice.because)


def resume(turn: Turn) -> Checkpoint:
    """Return where to resume: the checkpoint-manager's answer, else the newest committed step."""
    return turn.recovery.checkpoint or turn.state.checkpoint


def _avoid(turn: Turn, names: frozenset[str]) -> None:
    """Keep replacements off the culprit's node: strictly when it should be out and is not, else by preference."""
    recovery, state = turn.recovery, turn.state
    strict, soft = set(state.avoid), set(recovery.soft_avoid)
    fenced = recovery.fence is not None and recovery.fence.isolated
    hurt = blamed(state, recovery.verdict)
    for name in names:
        task = state.tasks[name]
        blameless = task.lost is not None and task.lost.by in BLAMELESS
        cordoned = fenced and name in hurt
        suspect = name in hurt or task.unfit or task.lost is not None
        if task.node is None or blameless or cordoned or not suspect:
            continue
        must = task.stuck or (recovery.verdict.isolate and name in hurt)
        (strict if must else soft).add(task.node)
    turn.put(avoid=_sorted(strict))
    turn.recover(soft_avoid=_sorted(soft - strict))


def _sorted(nodes: set[NodeName]) -> tuple[NodeName, ...]:
    return tuple(sorted(nodes))


def _replace(turn: Turn, name: str, generation: int) -> None:
    task = turn.state.tasks[name]
    left = Leaving(
        ref=task.ref,
        node=task.node,
        ran=task.ran,
        stopped=task.stopped,
        stepped=task.stepped >= task.ran,
        phase=task.phase,
        gone=task.dead,
    )
    turn.put(leaving=(*turn.state.leaving, left), tasks=turn.state.tasks | {name: successor(turn, task, generation)})


def successor(turn: Turn, task: Task, generation: int) -> Task:
    """Return the next incarnation of a task, not yet created."""
    job = turn.state.job
    if job is None:
        raise ValueError("a job without a name was created")
    incarnation = task.incarnation + 1
    ref = TaskRef(name=task.ref.name, uid=task_uid(job.uid, task.ref.name, incarnation), index=task.ref.index)
    return Task(ref=ref, incarnation=incarnation, born=generation)


def _stop_plan(turn: Turn, generation: int) -> PlanHead:
    recovery, job = turn.recovery, turn.state.job
    if job is None:
        raise ValueError("a job without a name was created")
    return PlanHead(
        job=job.uid,
        generation=generation,
        phase=PlanPhase.STOP,
        world_size=turn.spec.world_size,
        incident=recovery.incident,
        attempt=recovery.attempt,
        cause=recovery.cause,
    )
