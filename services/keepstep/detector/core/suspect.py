"""From what the telemetry watch suspects to faults: the fold has the last word, so that nothing is said twice."""

from datetime import datetime, timedelta

from keepstep.contracts.events import (
    AgentHeard,
    ExitEvidence,
    ExitSuspected,
    FaultCleared,
    FaultDetected,
    SilenceEvidence,
    SilenceSuspected,
    StallEvidence,
    StallPassed,
    StallSuspected,
)
from keepstep.contracts.ids import consequence_id
from keepstep.contracts.taxonomy import StallSign
from keepstep.core.decision import Decision
from keepstep.detector.core.follow import SILENT
from keepstep.detector.core.observe import how
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
)

HANG = "hang/"
ALL = f"{HANG}job"
"""Key of a hang that blames nobody."""


def silence(fold: JobFold, event: SilenceSuspected, now: datetime) -> Decision[JobFold]:
    """An agent silent for a whole window is a fault, unless its task is gone, done or was called silent before."""
    if is_stale(fold, event) or event.task is None:
        return Decision(dropped(fold))
    key = SILENT + event.task
    seat = fold.tasks[event.task]
    if key in fold.open or event.task in fold.lost or has_finished(fold, seat):
        return Decision(fold)
    because = f"the agent of {seat.ref.name} on {seat.node} was not heard for {event.silent_s:.1f} s"
    evidence = SilenceEvidence(silent_s=event.silent_s, last_step=event.last_step, phase=event.phase)
    since = event.time - timedelta(seconds=event.silent_s)
    said = fault(fold, event, of_task(seat), evidence, now=now, occurred=since, because=because)
    return Decision(opened(fold, key, said), (said,), because)


def heard(fold: JobFold, event: AgentHeard, now: datetime) -> Decision[JobFold]:
    """A silence is over."""
    because = "the agent is heard again"
    fold, said = cleared(fold, f"{SILENT}{event.task}", event, now=now, because=because)
    return Decision(fold, said, because if said else "")


def hang(fold: JobFold, event: StallSuspected, now: datetime) -> Decision[JobFold]:
    """A hang is one fault per rank to blame, or one of the whole job; a job that fails already does not also hang."""
    if is_stale(fold, event):
        return Decision(dropped(fold))
    if Ending.FAILED in fold.endings.values() or any(key.startswith((HANG, "stall/")) for key in fold.open):
        return Decision(fold)
    says: list[FaultDetected] = []
    for stall in event.stalls:
        named = stall.sign is not StallSign.NO_PROGRESS or stall.waiting is False
        key = f"{HANG}{stall.rank}" if named else ALL
        subject = of_rank(fold, stall.rank) if named else Subject(f"job {fold.job.name}")
        name, since = consequence_id("FaultDetected", event.id, subject=key), _began(event, stall)
        said = fault(fold, event, subject, stall, id=name, now=now, occurred=since, because=event.because)
        fold = opened(fold, key, said)
        says.append(said)
    return Decision(fold, tuple(says), event.because)


def _began(event: StallSuspected, stall: StallEvidence) -> datetime:
    return event.time - timedelta(seconds=stall.stalled_s)


def passed(fold: JobFold, event: StallPassed, now: datetime) -> Decision[JobFold]:
    """The ranks of a hang step again."""
    if is_stale(fold, event):
        return Decision(dropped(fold))
    because = "steps are made again without help"
    says: list[FaultCleared] = []
    for key in [key for key in fold.open if key.startswith(HANG)]:
        fold, said = cleared(fold, key, event, now=now, because=because)
        says.extend(said)
    return Decision(fold, tuple(says), because if says else "")


def exit_unreported(fold: JobFold, event: ExitSuspected, now: datetime) -> Decision[JobFold]:
    """An exit that only heartbeats show is a fault too; the report may still come and says nothing new then."""
    if is_stale(fold, event):
        return Decision(dropped(fold))
    if event.rank in fold.endings:
        return Decision(fold)
    because = f"heartbeats show rank {event.rank} ended by {how(event.exit)} and nobody reported it"
    fold = change(fold, endings={**fold.endings, event.rank: Ending.FAILED})
    subject = of_rank(fold, event.rank)
    evidence = ExitEvidence(rank=event.rank, exit=event.exit, step=event.step, phase=event.phase)
    said = fault(fold, event, subject, evidence, now=now, occurred=event.time, because=because)
    return Decision(fold, (said,), because)
