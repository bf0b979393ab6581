"""Verdicts and the two answers to them: a new incident, a revision, another attempt, or something stale."""

from keepstep.contracts.events import (
    CheckpointChosen,
    DeviceIsolated,
    FaultCleared,
    FaultDiagnosed,
    IncidentClosed,
    IncidentOpened,
    IsolationDeclined,
    NodeIsolated,
    Verdict,
)
from keepstep.contracts.ids import IncidentId
from keepstep.contracts.taxonomy import Category, Outcome
from keepstep.core.budgets import BudgetClass, class_of
from keepstep.scheduler_adapter.core.ending import close_foreign, close_recovery, closed_attempt, remember_closed
from keepstep.scheduler_adapter.core.planning import say_failed
from keepstep.scheduler_adapter.core.progress import note_step_time
from keepstep.scheduler_adapter.core.recovery import (
    Checkpoint,
    Fence,
    Joining,
    Recovery,
    Starting,
    Stepping,
    Stopping,
    Waiting,
)
from keepstep.scheduler_adapter.core.situation import blamed
from keepstep.scheduler_adapter.core.state import JobState, Life
from keepstep.scheduler_adapter.core.turn import Turn

OVER = (Life.ENDING, Life.ENDED)
HARDWARE = frozenset({Category.DEVICE_HARDWARE, Category.DEVICE_DRIVER, Category.NODE_HARDWARE})
"""Verdicts that hold for a place and not for a generation (PROTOCOL section 4)."""


def open_incident(turn: Turn, event: IncidentOpened) -> None:
    """Remember an incident that waits for its verdict, so that it is closed if the job ends first."""
    if event.incident is None or closed_attempt(turn, event.incident) is not None:
        return
    if turn.state.life in OVER:
        close_foreign(turn, event.incident, Outcome.JOB_GONE, f"the job is {turn.state.life} already")
    elif turn.state.recovery is None or turn.state.recovery.incident != event.incident:
        turn.put(opened=event.incident)


def forget_opened(turn: Turn, event: IncidentClosed) -> None:
    """The diagnoser closed an incident whose faults were over before it had a verdict."""
    if event.incident is not None and event.incident == turn.state.opened:
        remember_closed(turn, event.incident, 0)


def hear_verdict(turn: Turn, event: FaultDiagnosed) -> None:
    """Act on a verdict about the current generation and placement; set aside any other."""
    incident, recovery = event.incident, turn.state.recovery
    if incident is None or _heard(turn, event):
        return
    if turn.state.life in OVER:
        close_foreign(turn, incident, Outcome.JOB_GONE, f"the job is {turn.state.life} already", event.verdict.category)
        return
    if recovery is not None and recovery.incident == incident and event.attempt == recovery.attempt:
        _revise(turn, event, recovery)
        return
    stale = _stale(turn.state, event)
    if stale:
        turn.why(stale)
        if recovery is None or recovery.incident != incident:
            close_foreign(turn, incident, Outcome.CLEARED, stale, event.verdict.category)
    elif recovery is None:
        _begin(turn, event, incident)
    else:
        _again(turn, event, recovery)


def _heard(turn: Turn, event: FaultDiagnosed) -> bool:
    """Tell whether this verdict, or a later one of its incident, was acted on already."""
    recovery, incident = turn.state.recovery, event.incident
    if recovery is not None and recovery.incident == incident:
        return recovery.cause == event.id or event.attempt < recovery.attempt
    closed = closed_attempt(turn, incident)
    return closed is not None and event.attempt <= max(closed, 1)


def _holds(state: JobState, verdict: Verdict) -> bool:
    """Tell whether the verdict is on hardware under the current placement: no restart of the ranks mends that."""
    return verdict.category in HARDWARE and bool(blamed(state, verdict))


def _stale(state: JobState, event: FaultDiagnosed) -> str:
    """Return why the verdict is about something that no longer is, or ""."""
    if _holds(state, event.verdict):
        return ""
    if event.generation is not None and event.generation < state.generation:
        return f"the fault is of generation {event.generation}, generation {state.generation} runs"
    culprit = event.verdict.culprit
    if culprit is None or blamed(state, event.verdict):
        return ""
    if culprit.task is not None:
        return f"task {culprit.task} is no longer placed"
    return f"the job no longer runs on {culprit.node or culprit.device}"


def _begin(turn: Turn, event: FaultDiagnosed, incident: IncidentId) -> None:
    generation = turn.state.generation
    recovery = Recovery(
        incident=incident,
        cause=event.id,
        verdict=event.verdict,
        faults=event.faults,
        attempt=event.attempt,
        revision=event.revision,
        from_generation=generation,
        to_generation=turn.state.following,
        stage=Joining(since=turn.now),
        culprits=(_culprit(turn.state, event.verdict),),
        occurred=event.occurred,
        detected=event.detected,
        diagnosed=turn.now,
        step=event.verdict.step,
    )
    turn.put(recovery=recovery, opened=None)
    note_step_time(turn, event.verdict.step)
    turn.why(f"{event.verdict.category}: {event.verdict.because}")


def _culprit(state: JobState, verdict: Verdict) -> str:
    """Return whom the verdict blames as one word that survives replacement: rank, task name or node."""
    culprit = verdict.culprit
    if culprit is None:
        return "nobody"
    if culprit.rank is not None:
        return f"rank {culprit.rank}"
    return ", ".join(sorted(blamed(state, verdict))) or f"node {culprit.node}"


def _revise(turn: Turn, event: FaultDiagnosed, recovery: Recovery) -> None:
    """Take a better verdict on the same attempt, as long as the recovery has not started."""
    if event.revision <= recovery.revision:
        return
    culprit = event.verdict.culprit
    leaving = {task.ref.uid: task.ref.name for task in turn.state.leaving}
    if culprit is not None and culprit.task in leaving and not blamed(turn.state, event.verdict):
        turn.why(f"revision {event.revision} blames {leaving[culprit.task]}, which is being replaced already")
        return
    match recovery.stage:
        case Joining() | Waiting() | Stopping(announced=False):
            verdict = event.verdict
            culprits = (*recovery.culprits[:-1], _culprit(turn.state, verdict))
            step = recovery.step if verdict.step is None else max(verdict.step, recovery.step or 0)
            _rejoin(turn, event, culprits=culprits, step=step)
        case Stopping() | Starting() | Stepping() if _holds(turn.state, event.verdict):
            _rejoin(turn, event, culprits=(*recovery.culprits[:-1], _culprit(turn.state, event.verdict)))
        case Stopping() | Starting() | Stepping():
            turn.why(f"revision {event.revision} came after RecoveryStarted")


def _again(turn: Turn, event: FaultDiagnosed, recovery: Recovery) -> None:
    """A fault of the new generation before it stepped: the same level for a new culprit, the next for an old one."""
    culprit = _culprit(turn.state, event.verdict)
    verdict, level = event.verdict, recovery.level
    if event.incident is not None and event.incident != recovery.incident:
        close_foreign(turn, event.incident, Outcome.CLEARED, f"joins incident {recovery.incident}", verdict.category)
    innocent = verdict.bad_checkpoint is not None or class_of(verdict) is BudgetClass.UNBURNT
    if level is not None and culprit in recovery.culprits and not innocent:
        because = f"{culprit} failed again: {verdict.because}"
        say_failed(turn, because)
        turn.recover(failed=recovery.failed | {level}, condemned=True)
    attempt = max(event.attempt, recovery.attempt + 1)
    _rejoin(turn, event, culprits=(*recovery.culprits, culprit)[-32:], attempt=attempt, explained=None)


def _rejoin(turn: Turn, event: FaultDiagnosed, **changes: object) -> None:
    turn.recover(
        cause=event.id,
        verdict=event.verdict,
        faults=event.faults,
        cleared=(),
        revision=event.revision,
        stage=Joining(since=turn.now),
        checkpoint=None,
        fence=None,
        **changes,
    )
    turn.why(f"{event.verdict.category}: {event.verdict.because}")


def choose_checkpoint(turn: Turn, event: CheckpointChosen) -> None:
    """Take the checkpoint-manager's answer to the verdict acted on."""
    recovery = turn.state.recovery
    if recovery is not None and event.cause == recovery.cause:
        turn.recover(checkpoint=Checkpoint(step=event.step, path=event.path))


def take_fence(turn: Turn, event: NodeIsolated | DeviceIsolated | IsolationDeclined) -> None:
    """Take the isolator's answer to the verdict acted on; with one device out its node still takes tasks."""
    recovery = turn.state.recovery
    if recovery is not None and event.cause == recovery.cause:
        fence = Fence(isolated=isinstance(event, NodeIsolated), because=event.because)
        turn.recover(fence=fence, group=event.group or recovery.group)


def clear_fault(turn: Turn, event: FaultCleared) -> None:
    """Close the incident if all its faults went away before anything was done."""
    recovery = turn.state.recovery
    if recovery is None or event.cause not in recovery.faults or not isinstance(recovery.stage, Joining | Waiting):
        return
    cleared = tuple(sorted({*recovery.cleared, event.cause}))
    turn.recover(cleared=cleared)
    if set(cleared) >= set(recovery.faults) and recovery.untouched:
        close_recovery(turn, Outcome.CLEARED, event.because)
        turn.why(event.because)
