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
    ReportPlaced,
    StallEvidence,
    TaskLost,
    UnkillableEvidence,
)
from keepstep.contracts.ids import EventId, NodeName, consequence_id, episode_id
from keepstep.contracts.message import envelope
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.telemetry import Exit
from keepstep.core import sentences
from keepstep.core.decision import Decision
from keepstep.detector.core.follow import DEVICE
from keepstep.detector.core.state import (
    Ending,
    JobFold,
    Subject,
    change,
    cleared,
    dropped,
    fault,
    has_finished,
    is_stale,
    of_rank,
    of_task,
    opened,
    seen,
    with_episode,
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
    said = fault(fold, event, of_rank(fold, event.rank), evidence, now=now, occurred=event.at, because=because)
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
    subject, name = of_rank(fold, event.rank), _episode(fold, "stall", key)
    said = fault(fold, event, subject, evidence, id=name, now=now, occurred=event.since, because=because)
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
    said = fault(fold, event, of_rank(fold, event.rank), evidence, now=now, occurred=event.time, because=because)
    return Decision(opened(fold, key, said), (said,), because)


def lost(fold: JobFold, event: TaskLost, now: datetime) -> Decision[JobFold]:
    """A placed task that is gone is a fault, unless all its ranks had finished."""
    seat = fold.tasks.get(event.ref.uid)
    if seat is None:
        return Decision(dropped(fold))
    if event.ref.uid in fold.lost:
        return Decision(fold)
    fold = change(fold, lost=(*fold.lost, event.ref.uid))
    if has_finished(fold, seat):
        ranks = sentences.counted(len(seat.ranks), "rank")
        return Decision(fold, because=f"task {event.ref.name} is gone after {ranks} had finished")
    because = f"task {event.ref.name} on {seat.node} is {_loss(event)}"
    evidence = LossEvidence(by=event.by, proven=event.proven, text=event.text)
    said = fault(fold, event, of_task(seat), evidence, now=now, occurred=event.at, because=because)
    return Decision(fold, (said,), because)


def _loss(event: TaskLost) -> str:
    return f"to move: {event.text}" if event.by is LossCause.DRAINED else f"gone: {event.by.value}"


def applied(fold: JobFold, event: PlanApplied, now: datetime) -> Decision[JobFold]:
    """Ranks that SIGKILL did not end are a fault of what holds them."""
    if not event.unkillable:
        return Decision(fold)
    if is_stale(fold, event) or event.task is None:
        return Decision(dropped(fold))
    because = f"{sentences.counted(len(event.unkillable), 'rank')} could not be reaped after SIGKILL"
    subject, evidence = of_task(fold.tasks[event.task]), UnkillableEvidence(ranks=event.unkillable)
    said = fault(fold, event, subject, evidence, now=now, occurred=event.time, because=because)
    return Decision(fold, (said,), because)


def reported(fold: JobFold, event: ReportPlaced, now: datetime) -> Decision[JobFold]:
    """A report hurts the job only where it runs now; the same report is a fault once until it ends.

    Where the job does not run any more the report goes back to its node, so that it is recorded and restarts nothing.
    """
    key, what = report_key(event.node, event.evidence), what_of(event.evidence)
    if not event.active:
        because = f"node {event.node} reports that {what} is over"
        fold, cleared_now = cleared(fold, key, event, now=now, because=because)
        return Decision(fold, cleared_now, because if cleared_now else "")
    if key in fold.open or event.id in fold.recent:
        return Decision(fold)
    there = [seat for seat in fold.tasks.values() if seat.node == event.node and seat.ref.uid not in fold.lost]
    if fold.ended or not there:
        return handed_back(fold, event, now)
    because = f"node {event.node} reported {what} while {_running(len(there))} there"
    subject, episode = Subject(_named(event), there[0]), _episode(fold, "report", key)
    said = fault(fold, event, subject, event.evidence, id=episode, now=now, occurred=event.time, because=because)
    fold = seen(fold, event)
    return Decision(with_episode(fold, key) if event.once else opened(fold, key, said), (said,), because)


def handed_back(fold: JobFold, event: ReportPlaced, now: datetime) -> Decision[JobFold]:
    """Say the report again without a job: this one left the node while the report was on its way."""
    about = envelope(event, time=now, job=None, task=None, generation=None, cause=event.cause)
    fields = {"evidence": event.evidence, "active": True, "once": event.once, "jobs": 0}
    back = ReportPlaced(**about, id=consequence_id("ReportPlaced", event.id), **fields)
    return Decision(
        fold, (back,), f"the job runs on node {event.node} no more: {what_of(event.evidence)} is the node's"
    )


def _running(tasks: int) -> str:
    return "a task of the job runs" if tasks == 1 else f"{tasks} tasks of the job run"


def _named(event: ReportPlaced) -> str:
    match event.evidence:
        case DeviceEvidence():
            return f"device {event.evidence.device} of node {event.node}"
        case NodeEvidence():
            return f"node {event.node}"


def what_of(evidence: DeviceEvidence | NodeEvidence) -> str:
    """Return what was reported; two reports of the same are one fault until it is over."""
    match evidence:
        case DeviceEvidence():
            return f"device {evidence.device} {evidence.code}"
        case NodeEvidence():
            return evidence.condition


def report_key(node: NodeName | None, evidence: DeviceEvidence | NodeEvidence) -> str:
    """Return under which key of a job's open faults a report of this node stands."""
    return f"{DEVICE}{node}/{what_of(evidence)}"


def _episode(fold: JobFold, kind: str, key: str) -> EventId:
    subject = f"{fold.job.uid}/{key}"
    return episode_id(kind, subject, fold.generation, episode=fold.episodes.get(key, 0) + 1)
