"""Incidents that end without a verdict: their faults were over before it, or nothing but hearsay spoke for them.

Whoever watches the network or the storage of a cluster says that a link was down or a mount slow. That explains ranks
that lost their peers; for ranks that step it is no reason to be restarted, and three of them an hour no reason to fail.
"""

from datetime import datetime, timedelta

from keepstep.contracts.events import DeadlinePassed, FaultCleared, IncidentClosed
from keepstep.contracts.ids import consequence_id
from keepstep.contracts.message import envelope
from keepstep.contracts.taxonomy import Category, Outcome, Service
from keepstep.core.decision import Decision
from keepstep.diagnoser.core.state import MAX_FINDINGS, Attempt, JobFold, change, with_attempt

KEPT = timedelta(minutes=30)
"""What was heard may explain a fault for so long: the default time-out of gloo's collectives, the longest in use."""
MAX_HEARD = 8


def cleared(fold: JobFold, event: FaultCleared, now: datetime) -> Decision[JobFold]:
    """Take a fault back that ended before its verdict; when none is left nothing happened, and the incident closes."""
    fold = change(fold, heard=tuple(found for found in fold.heard if found.fault != event.cause))
    if fold.incident is None or fold.incident.attempt.verdict is not None:
        return Decision(fold)
    attempt = fold.incident.attempt
    left = tuple(found for found in attempt.findings if found.fault != event.cause)
    if len(left) == len(attempt.findings):
        return Decision(fold)
    if left:
        faults = tuple(each for each in attempt.faults if each != event.cause)
        kept = attempt.model_copy(update={"findings": left, "faults": faults, "count": attempt.count - 1})
        return Decision(with_attempt(fold, kept))
    return _ended(fold, attempt, event, now, f"every fault was over before its verdict: {event.because}")


def is_hearsay_alone(attempt: Attempt) -> bool:
    """Tell whether nobody but others said anything; of more faults than are kept that is not known."""
    return attempt.count <= MAX_FINDINGS and all(found.hearsay for found in attempt.findings)


def withheld(fold: JobFold, attempt: Attempt, event: DeadlinePassed, now: datetime) -> Decision[JobFold]:
    """Close the incident, and remember what was heard in case that it explains a fault to come."""
    heard = {found.fault: found for found in (*fold.heard, *attempt.findings)}
    fold = change(fold, heard=tuple(heard.values())[-MAX_HEARD:])
    because = f"hearsay alone restarts nothing, and no rank has told of a fault: {attempt.findings[0].because}"
    return _ended(fold, attempt, event, now, because)


def recalled(fold: JobFold, now: datetime) -> Attempt:
    """Return the attempt that an incident begins with: what was heard lately of nodes that the job still runs on."""
    nodes = {place.node for place in fold.tasks.values()}
    lately = tuple(
        found
        for found in fold.heard
        if now - found.occurred <= KEPT and (found.culprit is None or found.culprit.node in nodes)
    )
    return Attempt(findings=lately, faults=tuple(found.fault for found in lately), count=len(lately))


def _ended(
    fold: JobFold, attempt: Attempt, event: FaultCleared | DeadlinePassed, now: datetime, because: str
) -> Decision[JobFold]:
    """Close an incident of which nothing is left; one that is being recovered goes on, for its first fault."""
    assert fold.incident is not None  # noqa: S101 - callers have one
    if attempt.number > 1:
        return Decision(with_attempt(fold, Attempt(number=attempt.number)), because=because)
    said = IncidentClosed(
        **envelope(event, time=now, job=fold.job, incident=fold.incident.id),
        id=consequence_id("IncidentClosed", event.id),
        service=Service.DIAGNOSER,
        outcome=Outcome.CLEARED,
        category=Category.UNKNOWN,
        because=because,
    )
    return Decision(change(fold, incident=None), (said,), because)
