"""An incident that is open past every deadline of its recovery is an alert (PROTOCOL section 1)."""

from collections.abc import Iterable
from datetime import datetime

from keepstep.contracts.events import DeadlinePassed, IncidentOverdue
from keepstep.contracts.ids import EventId, consequence_id
from keepstep.core.decision import Deadline, Decision
from keepstep.diagnoser.core.state import Incident, JobFold, change

OVERDUE = "overdue/"
"""What the deadline waits for, with the incident's id after it."""


def overdue(fold: JobFold) -> Iterable[Deadline]:
    """Return when the open incident is to be alerted of, until it was."""
    incident = fold.incident
    if incident is not None and incident.opened is not None and not incident.alerted:
        yield Deadline(what=f"{OVERDUE}{incident.id}", due=incident.opened + fold.longest)


def alert(fold: JobFold, event: DeadlinePassed, incident: Incident, now: datetime) -> Decision[JobFold]:
    """Say once that the incident is still open; a deadline that the fold does not wait for changes nothing."""
    if not any(each.what == event.what and each.due == event.due for each in overdue(fold)):
        return Decision(fold)
    because = f"open past {fold.longest.total_seconds():.0f} s, the sum of its recovery's deadlines"
    said = IncidentOverdue(
        id=consequence_id("IncidentOverdue", EventId(incident.id)),
        time=now,
        pool=fold.pool,
        job=fold.job,
        generation=fold.generation,
        incident=incident.id,
        cause=event.id,
        opened=incident.opened or now,
        because=because,
    )
    return Decision(change(fold, incident=incident.model_copy(update={"alerted": True})), (said,), because)
