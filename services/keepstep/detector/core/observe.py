"""From what agents and the cluster saw to faults."""

from datetime import datetime

from keepstep.contracts.events import (
    DeviceEvidence,
    ExitEvidence,
    LogEvidence,
    LogMatched,
    LossEvidence,
    NodeEvidence,
    PlanApplied,
    RankExited,
    RankRecovered,
    RankStalled,
    StallEvidence,
    TaskLost,
    UnkillableEvidence,
)
from keepstep.contracts.ids import EventId, consequence_id, episode_id
from keepstep.contracts.message import Message
from keepstep.contracts.telemetry import Exit
from keepstep.core.decision import Decision
from keepstep.detector.core.follow import DEVICE
from keepstep.detector.core.state import (
    Ending,
    JobFold,
    change,
    cleared,
    dropped,
    fault,
    has_finished,
    is_stale,
    opened,
    seen,
    task_of,
)
from keepstep.diagnosis.patterns import builtin_patterns

_BUILT_IN = frozenset(pattern.name for pattern in builtin_patterns())


def exited(fold: JobFold, event: RankExited, now: datetime) -> Decision[JobFold]:
    """An exit is a fault unless keepstep ordered it or it is 0; it is called once per rank and generation."""
    if is_stale(fold, event):
        return Decision(dropped(fold))
    if event.rank in fold.endings:
        return Decision(fold)
    ending = _ending(event)
    fold = change(fold, endings={**fold.endings, event.rank: ending})
    if ending is not Ending.FAILED:
        return Decision(fold)
    evidence = ExitEvidence(
        rank=event.rank,
        exit=event.exit,
        step=event.step,
        phase=event.phase,
        ran_s=event.ran_s,
        last_lines=event.last_lines,
    )
    because = f"rank {event.rank} ended by {how(event.exit)} after {event.ran_s:.1f} s, unasked"
    said = fault(
        fold,
        event,
        evidence,
        id=consequence_id("FaultDetected", event.id),
        now=now,
        occurred=event.at,
        subject=f"rank {event.rank}",
        because=because,
        view=task_of(fold, event.rank),
    )
    return Decision(fold, (said,), because)


def _ending(event: RankExited) -> Ending:
    if event.ordered:
        return Ending.ORDERED
    return Ending.FINISHED if event.exit.code == 0 else Ending.FAILED


def how(exited_by: Exit) -> str:
    """Return an exit in words."""
    if exited_by.signal is not None:
        return f"signal {exited_by.signal}"
    return f"exit code {exited_by.code}" if exited_by.code is not None else "nobody could tell what"


def stalled(fold: JobFold, event: RankStalled, now: datetime) -> Decision[JobFold]:
    """A stall that the agent saw is a fault, once until it recovers or the ranks are restarted; unless turned off."""
    key = f"stall/{event.rank}"
    if is_stale(fold, event):
        return Decision(dropped(fold))
    known = event.id in fold.recent or key in fold.open or event.rank in fold.endings
    if known or not fold.policy.hang_detection:
        return Decision(fold)
    lasted = (now - event.since).total_seconds()
    evidence = StallEvidence(
        rank=event.rank, sign=event.sign, step=event.step, phase=event.phase, stalled_s=max(lasted, 0.0)
    )
    because = f"rank {event.rank} is in state {event.state} for {lasted:.1f} s ({event.sign.value})"
    said = fault(
        fold,
        event,
        evidence,
        id=_episode(fold, "stall", key),
        now=now,
        occurred=event.since,
        subject=f"rank {event.rank}",
        because=because,
        view=task_of(fold, event.rank),
    )
    return Decision(opened(seen(fold, event), key, said), (said,), because)


def recovered(fold: JobFold, event: RankRecovered, now: datetime) -> Decision[JobFold]:
    """A stall that ended by itself is cleared."""
    if is_stale(fold, event):
        return Decision(dropped(fold))
    if event.id in fold.recent:
        return Decision(fold)
    because = f"rank {event.rank} runs again without help"
    fold, said = cleared(seen(fold, event), f"stall/{event.rank}", event, now=now, because=because)
    return Decision(fold, said, because if said else "")


def matched(fold: JobFold, event: LogMatched, now: datetime) -> Decision[JobFold]:
    """A line is a fault if the job or keepstep asked for it; a rank that repeats it says nothing new."""
    key = f"log/{event.rule}/{event.rank}"
    if is_stale(fold, event):
        return Decision(dropped(fold))
    asked = event.rule in _BUILT_IN or any(event.rule == pattern.name for pattern in fold.policy.log_patterns)
    if not asked or key in fold.open:
        return Decision(fold)
    evidence = LogEvidence(rank=event.rank, rule=event.rule, category=event.category, line=event.line, step=event.step)
    because = f"rank {event.rank} printed a line of pattern {event.rule} at offset {event.offset}"
    said = fault(
        fold,
        event,
        evidence,
        id=consequence_id("FaultDetected", event.id),
        now=now,
        occurred=event.time,
        subject=f"rank {event.rank}",
        because=because,
        view=task_of(fold, event.rank),
    )
    return Decision(opened(fold, key, said), (said,), because)


def lost(fold: JobFold, event: TaskLost, now: datetime) -> Decision[JobFold]:
    """A placed task that is gone is a fault, unless all its ranks had finished."""
    view = fold.tasks.get(event.ref.uid)
    if view is None:
        return Decision(dropped(fold))
    if event.ref.uid in fold.lost:
        return Decision(fold)
    fold = change(fold, lost=(*fold.lost, event.ref.uid))
    if has_finished(fold, view):
        return Decision(fold, because=f"task {event.ref.name} is gone after its {len(view.ranks)} ranks had finished")
    because = f"task {event.ref.name} on {view.node} is gone: {event.by.value}"
    said = fault(
        fold,
        event,
        LossEvidence(by=event.by, proven=event.proven, text=event.text),
        id=consequence_id("FaultDetected", event.id),
        now=now,
        occurred=event.at,
        subject=f"task {event.ref.name}",
        because=because,
        view=view,
    )
    return Decision(fold, (said,), because)


def applied(fold: JobFold, event: PlanApplied, now: datetime) -> Decision[JobFold]:
    """Ranks that SIGKILL did not end are a fault of what holds them."""
    if not event.unkillable:
        return Decision(fold)
    if is_stale(fold, event) or event.task is None:
        return Decision(dropped(fold))
    because = f"{len(event.unkillable)} ranks could not be reaped after SIGKILL"
    said = fault(
        fold,
        event,
        UnkillableEvidence(ranks=event.unkillable),
        id=consequence_id("FaultDetected", event.id),
        now=now,
        occurred=event.time,
        subject=f"task {fold.tasks[event.task].ref.name}",
        because=because,
        view=fold.tasks[event.task],
    )
    return Decision(fold, (said,), because)


def reported(
    fold: JobFold, event: Message, evidence: DeviceEvidence | NodeEvidence, *, active: bool, now: datetime
) -> Decision[JobFold]:
    """A report hurts the job only where it runs now; the same report is a fault once until it ends."""
    match evidence:
        case DeviceEvidence():
            what, name = f"{evidence.device}/{evidence.code}", f"device {evidence.device} of node {event.node}"
        case NodeEvidence():
            what, name = evidence.condition, f"node {event.node}"
    key = f"{DEVICE}{event.node}/{what}"
    if not active:
        fold, cleared_now = cleared(fold, key, event, now=now, because=f"{name} reports that {what} is over")
        return Decision(fold, cleared_now)
    there = [view for view in fold.tasks.values() if view.node == event.node and view.ref.uid not in fold.lost]
    if not there or key in fold.open:
        return Decision(fold)
    because = f"{name} reported {what} while {len(there)} tasks of the job run there"
    said = fault(
        fold,
        event,
        evidence,
        id=_episode(fold, "report", key),
        now=now,
        occurred=event.time,
        subject=name,
        because=because,
        view=there[0],
    )
    return Decision(opened(fold, key, said), (said,), because)


def _episode(fold: JobFold, kind: str, key: str) -> EventId:
    subject = f"{fold.job.uid}/{key}"
    return episode_id(kind, subject, fold.generation, episode=fold.episodes.get(key, 0) + 1)
