"""Faults of nodes where no job runs: judged one by one at once, since no rank will ever tell more of them."""

from datetime import datetime

from keepstep.contracts.events import FaultDetected, FaultDiagnosed, IncidentOpened
from keepstep.contracts.ids import EventId, NodeName, consequence_id, incident_id
from keepstep.contracts.message import envelope
from keepstep.core.decision import Decision
from keepstep.diagnoser.core.state import MAX_RECENT, JobFold, change
from keepstep.diagnosis.verdict import first_cause, weigh


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
