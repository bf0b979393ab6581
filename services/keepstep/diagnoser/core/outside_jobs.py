"""Faults of nodes where no job runs: judged one by one at once, since no rank will ever tell more of them."""

from datetime import datetime

from keepstep.contracts.events import DeadlinePassed, FaultDetected, FaultDiagnosed, IncidentOpened
from keepstep.contracts.ids import EventId, NodeName, consequence_id, incident_id
from keepstep.contracts.message import Message, envelope
from keepstep.core import forgetting
from keepstep.core.decision import Decision
from keepstep.diagnoser.core.state import MAX_RECENT, JobFold, change
from keepstep.diagnosis.verdict import first_cause, weigh


def heard(fold: JobFold, message: Message, now: datetime) -> Decision[JobFold]:
    """Judge a fault of the node, of which the fold remembers for a day that it was judged."""
    match message:
        case FaultDetected(node=node) if node is not None:
            judgement = judged(fold, message, node, now)
            return Decision(change(judgement.state, ended_at=now, forgotten=False), judgement.says, judgement.because)
        case DeadlinePassed() if fold.ended_at is None or forgetting.is_time(message, fold.ended_at):
            return Decision(change(fold, forgotten=True))
        case _:
            return Decision(fold)


def judged(fold: JobFold, fault: FaultDetected, node: NodeName, now: datetime) -> Decision[JobFold]:
    """Open the incident of a node's fault and say its verdict; the isolator closes it. A repeat changes nothing."""
    if fault.id in fold.recent:
        return Decision(fold)
    verdict = first_cause((weigh(fault, fold.resumed),), quiet=(), faults=1, step=None)
    incident = incident_id(node, fault.id)
    about = envelope(fault, time=now, incident=incident)
    said = (
        IncidentOpened(**about, id=consequence_id("IncidentOpened", fault.id), fault=fault.id, because=fault.because),
        FaultDiagnosed(
            **about,
            id=consequence_id("FaultDiagnosed", EventId(incident), subject="1"),
            verdict=verdict,
            faults=(fault.id,),
            occurred=fault.occurred,
            detected=fault.time,
        ),
    )
    return Decision(change(fold, recent=(*fold.recent, fault.id)[-MAX_RECENT:]), said, verdict.because)
