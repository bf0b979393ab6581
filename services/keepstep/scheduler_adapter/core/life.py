"""A job's ordinary life once it is accepted: placed, launched, running, finished."""

from datetime import datetime, timedelta

from keepstep.contracts.events import (
    CheckpointCommitted,
    FaultDetected,
    JobStarted,
    JobWaiting,
    Placed,
    RankExited,
    SilenceEvidence,
    TaskJoined,
)
from keepstep.contracts.ids import NodeName
from keepstep.contracts.orders import PlanHead, entries_digest
from keepstep.contracts.taxonomy import Category, Phase, PlanPhase
from keepstep.contracts.topology import JobSpec
from keepstep.core.sentences import counted
from keepstep.scheduler_adapter.core.ending import fail, succeed
from keepstep.scheduler_adapter.core.peers import peers
from keepstep.scheduler_adapter.core.recovery import Checkpoint
from keepstep.scheduler_adapter.core.state import Exited, Life, Shortage
from keepstep.scheduler_adapter.core.turn import Turn

LISTED = 16
"""Ranks that a sentence names; more tell nobody more."""
LOOK_MARGIN = timedelta(seconds=0.3)
"""Beyond one scan and one stable look: the message's way through agent, manager and stream."""


def join_task(turn: Turn, event: TaskJoined) -> None:
    """Note where a task of the current placement runs and which ports it offers."""
    task = turn.state.current(event.ref)
    if task is None or turn.state.life in (Life.ENDING, Life.ENDED):
        return
    turn.task(
        task.ref.name,
        joined=True,
        node=event.node or task.node or NodeName(""),
        address=event.address,
        ports=task.ports if task.joined else event.port_offers,
        versions=event.versions,
        devices=event.devices,
    )
    turn.put(stillborn=0)
    if not task.joined:
        end_shortage(turn)
    if turn.state.joined_at is None and all(each.joined for each in turn.state.tasks.values()):
        turn.put(joined_at=turn.now)


def wait_for_room(turn: Turn, event: JobWaiting) -> None:
    """Note that the cluster has no room, or why by now; the clock of the level stands still until it has."""
    shortage = turn.state.shortage or Shortage(because=event.because, since=turn.now)
    if not turn.state.suspended and any(not task.joined for task in turn.state.tasks.values()):
        turn.put(shortage=shortage.model_copy(update={"because": event.because}))


def end_shortage(turn: Turn) -> None:
    """There was room: the level's clock starts again."""
    if turn.state.shortage is not None:
        clocks_anew(turn)


def clocks_anew(turn: Turn) -> None:
    """What stood in the way is gone: the time that a level or a launch may take begins now."""
    turn.put(shortage=None)
    if turn.state.recovery is not None:
        turn.recover(level_since=turn.now)
    elif turn.state.life is not Life.RUNNING:
        turn.put(since=turn.now)


def commit_checkpoint(turn: Turn, event: CheckpointCommitted) -> None:
    """Remember the newest committed step for starts without an answer from the checkpoint-manager."""
    known = turn.state.checkpoint.step
    if known is None or event.step >= known:
        turn.put(checkpoint=Checkpoint(step=event.step, path=event.path))


def look_due(joined: datetime, spec: JobSpec) -> datetime:
    """Return until when a start waits for checkpoints of an earlier run to be found."""
    policy = spec.policy.checkpoint
    return joined + policy.scan_every + policy.stable_for + LOOK_MARGIN


def advance_life(turn: Turn, *, looked: bool = False) -> None:
    """Launch when all tasks joined, say JobStarted when all ranks run, succeed when all exited 0."""
    state = turn.state
    if state.recovery is not None:
        return
    tasks = state.tasks.values()
    if state.life is Life.PLACING and all(task.joined and task.lost is None for task in tasks):
        if looked or state.specified().checkpoint_dir is None:
            launch(turn)
    elif state.life is Life.LAUNCHING and all(task.started >= state.generation for task in tasks):
        turn.put(life=Life.RUNNING, since=turn.now)
        turn.say(JobStarted, placement=placement(turn))
        turn.why(f"{counted(len(state.tasks), 'task')} started generation {state.generation}")
    finish_if_done(turn)


def finish_if_done(turn: Turn) -> None:
    """End the job when every rank of the current generation exited 0."""
    if turn.state.life is Life.RUNNING and all_exited_well(turn):
        succeed(turn)


def all_exited_well(turn: Turn) -> bool:
    """Tell whether every rank of the current generation exited 0."""
    exits = turn.state.exits
    return len(exits) == turn.spec.world_size and all(exit_.success for exit_ in exits.values())


def launch(turn: Turn) -> None:
    """Put out the run plan of the first generation."""
    run_plan(turn, turn.state.generation, turn.state.checkpoint)
    turn.put(life=Life.LAUNCHING, since=turn.now)
    turn.why(f"{counted(len(turn.state.tasks), 'task')} joined, which is all")


def run_plan(turn: Turn, generation: int, checkpoint: Checkpoint) -> None:
    """Make the run plan of a generation the plan: the master is the first task's address and first offer."""
    master = next(task for task in turn.state.tasks.values() if task.ref.index == 0)
    recovery, job = turn.state.recovery, turn.state.job
    if job is None:
        raise ValueError("a job without a name was created")
    head = PlanHead(
        job=job.uid,
        generation=generation,
        phase=PlanPhase.RUN,
        world_size=turn.spec.world_size,
        master_address=master.address,
        master_port=master.ports[0] if master.ports else 0,
        resume_step=checkpoint.step,
        resume_path=checkpoint.path,
        incident=recovery.incident if recovery else None,
        attempt=recovery.attempt if recovery else 0,
        cause=recovery.cause if recovery else None,
        entries_digest=entries_digest(turn.state.entries(generation)),
        peers=peers(turn.state),
    )
    tasks = {
        name: task.model_copy(update={"ran": generation, "phase": Phase.STEP})
        for name, task in turn.state.tasks.items()
    }
    turn.put(plan=head, generation=generation, tasks=tasks, exits={}, marks=None, finishing=None)
    if recovery is not None:
        turn.recover(from_generation=generation)


def placement(turn: Turn) -> tuple[Placed, ...]:
    """Return where each task runs, by index."""
    return tuple(
        Placed(task=task.ref, node=task.node or NodeName(""), ranks=turn.spec.ranks_of(task.ref.index))
        for task in sorted(turn.state.tasks.values(), key=lambda task: task.ref.index)
    )


def note_exit(turn: Turn, event: RankExited) -> None:
    """Count a rank's own end; ordered ends and those of other generations only tell how far the ranks had come."""
    _note_last_step(turn, event)
    if event.ordered or event.generation != turn.state.generation or turn.state.named(event.task) is None:
        return
    success = event.exit.code == 0
    exited = Exited(success=success, ran_s=event.ran_s, step=event.step)
    turn.put(exits=turn.state.exits | {event.rank: exited})
    if success and turn.state.finishing is None:
        turn.put(finishing=turn.now)


def note_silence(turn: Turn, event: FaultDetected) -> None:
    """Note what a task's ranks were doing when its agent fell silent: its fence lets them do that to its limit."""
    task = turn.state.named(event.task)
    if task is not None and isinstance(event.evidence, SilenceEvidence) and event.evidence.phase is not None:
        turn.task(task.ref.name, phase=event.evidence.phase)


def _note_last_step(turn: Turn, event: RankExited) -> None:
    """Learn from the ranks that are stopped how far the job had come: heartbeats and verdicts know less."""
    recovery = turn.state.recovery
    if recovery is None or event.step is None or event.generation is None:
        return
    if event.generation < recovery.to_generation:
        turn.recover(step=max(event.step, recovery.step or 0))


def finish_overdue(turn: Turn) -> None:
    """End a job whose last ranks run on too long after the first of them exited 0."""
    grace = turn.spec.policy.recovery.finish_grace.total_seconds()
    left = sorted(set(range(turn.spec.world_size)) - set(turn.state.exits))
    ranks = counted(len(left), "rank", of=turn.spec.world_size)
    because = f"{ranks} not done {grace:g} s after the first rank exited 0: {', '.join(map(str, left[:LISTED]))}"
    fail(turn, Category.HANG, because)
