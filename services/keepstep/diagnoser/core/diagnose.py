"""From faults to one incident and one verdict an attempt, revised only when a later fault changes it."""

from datetime import datetime

from keepstep.contracts.events import (
    DeadlinePassed,
    FaultDetected,
    FaultDiagnosed,
    IncidentClosed,
    IncidentOpened,
    Verdict,
)
from keepstep.contracts.ids import EventId, consequence_id, incident_id
from keepstep.contracts.message import Message, envelope
from keepstep.contracts.taxonomy import Category, Outcome
from keepstep.core.decision import Decision
from keepstep.core.sentences import counted
from keepstep.diagnoser.core import outside_jobs, without_verdict
from keepstep.diagnoser.core.overdue import OVERDUE, alert
from keepstep.diagnoser.core.staleness import is_elsewhere, is_stale
from keepstep.diagnoser.core.state import (
    MAX_FAULTS,
    MAX_FINDINGS,
    MAX_HISTORY,
    MAX_RECENT,
    Attempt,
    Incident,
    JobFold,
    Past,
    change,
    earliest,
    is_accounted_for,
    quiet_ranks,
    with_attempt,
)
from keepstep.diagnosis.finding import Finding, Weight
from keepstep.diagnosis.verdict import first_cause, weigh

OWN_DOING = frozenset({Category.USER_CODE, Category.USER_CONFIG, Category.DATA})
"""Categories of which a repeat at the same step proves that another try is in vain."""


def settling(number: int) -> str:
    """Return the name of an attempt's deadline."""
    return f"settle/{number}"


def faulted(fold: JobFold, fault: FaultDetected, now: datetime) -> Decision[JobFold]:
    """Open an incident, or add the fault to the open one; those of an older generation are answered already."""
    if fault.id in fold.recent:
        return Decision(fold)
    if is_stale(fold, fault):
        return Decision(change(fold, dropped=fold.dropped + 1))
    if is_elsewhere(fold, fault) and fault.node is not None:
        of_node = fault.model_copy(update={"job": None, "task": None, "generation": None})
        return outside_jobs.judged(fold, of_node, fault.node, now)
    fold = change(fold, recent=(*fold.recent, fault.id)[-MAX_RECENT:])
    opening: tuple[Message, ...] = ()
    if fold.incident is None:
        fold, opening = _open(fold, fault, now)
    assert fold.incident is not None  # noqa: S101 - opened above
    attempt = _with_fault(fold, fold.incident.attempt, fault)
    if attempt.verdict is None:
        attempt = attempt.model_copy(update={"settle": _settle(fold, attempt, now)})
        return Decision(with_attempt(fold, attempt), opening, _opening_words(opening, fault))
    return _revise(fold, attempt, now)


def closed(fold: JobFold, event: IncidentClosed, now: datetime) -> Decision[JobFold]:
    """Let the incident go; of a job that goes on, faults that still settle become the next one.

    A rank may die between its own first step and that of the slowest task, which closes the incident.
    """
    if fold.incident is None or fold.incident.id != event.incident:
        return Decision(fold)
    attempt = fold.incident.attempt
    if event.outcome is not Outcome.RESUMED or attempt.settle is None:
        return Decision(change(fold, incident=None))
    fault = attempt.faults[0]
    incident = incident_id(fold.uid, fault)
    faults = counted(attempt.count, "fault")
    because = f"{attempt.findings[0].because}, {faults} while the incident before this one ended"
    about = envelope(event, time=now, incident=incident, cause=fault)
    said = IncidentOpened(**about, id=consequence_id("IncidentOpened", fault), fault=fault, because=because)
    following = Incident(id=incident, attempt=attempt.model_copy(update={"number": 1}), opened=now)
    return Decision(change(fold, incident=following), (said,), because)


def _open(fold: JobFold, fault: FaultDetected, now: datetime) -> tuple[JobFold, tuple[Message, ...]]:
    incident = incident_id(fold.uid, fault.id)
    about = envelope(fault, time=now, job=fold.job, incident=incident)
    said = IncidentOpened(**about, id=consequence_id("IncidentOpened", fault.id), fault=fault.id, because=fault.because)
    attempt = without_verdict.recalled(fold, now)
    return change(fold, incident=Incident(id=incident, opened=now, attempt=attempt)), (said,)


def _opening_words(opening: tuple[Message, ...], fault: FaultDetected) -> str:
    return f"{fault.subject_name} opens the incident: {fault.because}" if opening else ""


def _with_fault(fold: JobFold, attempt: Attempt, fault: FaultDetected) -> Attempt:
    found = weigh(fault, fold.resumed)
    findings = sorted((*attempt.findings, found), key=lambda one: one.order)[:MAX_FINDINGS]
    steps = [step for step in (attempt.step, found.step) if step is not None]
    return attempt.model_copy(
        update={
            "findings": tuple(findings),
            "faults": (*attempt.faults, fault.id)[:MAX_FAULTS],
            "count": attempt.count + 1,
            "blamed": tuple(sorted({*attempt.blamed, *_ranks(fold, found)})),
            "step": max(steps, default=None),
            "occurred": earliest(attempt.occurred, fault.occurred),
            "detected": earliest(attempt.detected, fault.time),
        }
    )


def _ranks(fold: JobFold, found: Finding) -> tuple[int, ...]:
    """Return the ranks a finding accounts for: its own, or all of a task that is gone or silent."""
    if found.culprit is None:
        return ()
    if found.culprit.rank is not None:
        return (found.culprit.rank,)
    place = fold.tasks.get(found.culprit.task) if found.culprit.task is not None else None
    return place.ranks if place is not None else ()


def _settle(fold: JobFold, attempt: Attempt, now: datetime) -> datetime:
    """Return when the verdict is due.

    Soon once somebody failed by itself or every rank was heard of; else as long as the cause may still be on its way
    behind its victims.
    """
    first = attempt.findings[0]
    clear = first.weight in (Weight.DECISIVE, Weight.CAUSE) or first.category is Category.HANG
    due = now + (fold.policy.settle_first if clear or is_accounted_for(fold, attempt) else fold.policy.settle_limit)
    return earliest(attempt.settle, due)


def due(fold: JobFold, event: DeadlinePassed, now: datetime) -> Decision[JobFold]:
    """Say the verdict when the settle window of the current attempt is over, or that the incident is overdue."""
    if fold.incident is None:
        return Decision(fold)
    if event.what.startswith(OVERDUE):
        return alert(fold, event, fold.incident, now)
    attempt = fold.incident.attempt
    if event.what != settling(attempt.number) or attempt.settle is None or event.due < attempt.settle:
        return Decision(fold)
    if without_verdict.is_hearsay_alone(attempt):
        return without_verdict.withheld(fold, attempt, event, now)
    verdict = _verdict(fold, attempt)
    fold = change(fold, history=(*fold.history, Past(signature=verdict.signature, step=verdict.step))[-MAX_HISTORY:])
    return _say(fold, attempt, verdict, now)


def _revise(fold: JobFold, attempt: Attempt, now: datetime) -> Decision[JobFold]:
    """Replace a verdict that a later fault changed; one more victim changes nothing."""
    verdict = _verdict(fold, attempt)
    if attempt.verdict is not None and _gist(verdict) == _gist(attempt.verdict):
        return Decision(with_attempt(fold, attempt))
    past = Past(signature=verdict.signature, step=verdict.step)
    fold = change(fold, history=(*fold.history[:-1], past))
    return _say(fold, attempt.model_copy(update={"revision": attempt.revision + 1}), verdict, now)


def _gist(verdict: Verdict) -> tuple[object, ...]:
    return verdict.category, verdict.culprit, verdict.isolate, verdict.retriable, verdict.bad_checkpoint


def _verdict(fold: JobFold, attempt: Attempt) -> Verdict:
    verdict = first_cause(attempt.findings, quiet=quiet_ranks(fold, attempt), faults=attempt.count, step=attempt.step)
    rank = verdict.culprit.rank if verdict.culprit is not None else None
    if rank in attempt.stacks and rank is not None:
        verdict = verdict.model_copy(update={"because": f"{verdict.because}; stack in {attempt.stacks[rank]}"})
    past = fold.history if attempt.verdict is None else fold.history[:-1]
    repeats = Past(signature=verdict.signature, step=verdict.step) in past
    if not repeats or verdict.step is None:
        return verdict
    again = f"{verdict.because}; the same at step {verdict.step} before"
    if verdict.category not in OWN_DOING:
        return verdict.model_copy(update={"because": again})
    return verdict.model_copy(update={"retriable": False, "because": f"{again}, so another try is in vain"})


def _say(fold: JobFold, attempt: Attempt, verdict: Verdict, now: datetime) -> Decision[JobFold]:
    assert fold.incident is not None  # noqa: S101 - callers have one
    first = attempt.findings[0]
    culprit = verdict.culprit
    said = FaultDiagnosed(
        id=consequence_id(
            "FaultDiagnosed", EventId(fold.incident.id), subject=str(attempt.number), attempt=attempt.revision
        ),
        time=now,
        pool=fold.pool,
        job=fold.job,
        task=culprit.task if culprit is not None else None,
        node=culprit.node if culprit is not None else None,
        generation=fold.generation,
        incident=fold.incident.id,
        cause=first.fault,
        verdict=verdict,
        attempt=attempt.number,
        revision=attempt.revision,
        faults=attempt.faults,
        occurred=attempt.occurred or now,
        detected=attempt.detected or now,
        settle_s=max((now - (attempt.detected or now)).total_seconds(), 0.0),
    )
    attempt = attempt.model_copy(update={"verdict": verdict, "settle": None})
    return Decision(with_attempt(fold, attempt), (said,), verdict.because)
