"""Reports about nodes and devices wait in the node's fold until they were brought to the jobs that run there now.

Whoever reports, a task's agent, a system outside or an object of the cluster, and whatever job it names: what is hurt
is told by the placement at this moment (PROTOCOL section 4).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from keepstep.contracts.events import (
    DeadlinePassed,
    DeviceEvidence,
    DeviceReported,
    FaultDetected,
    NodeEvidence,
    NodeReported,
    PublicFaultReported,
    ReportPlaced,
    ReportRead,
)
from keepstep.contracts.ids import NodeName, Pool, consequence_id
from keepstep.contracts.message import Message, envelope
from keepstep.core.decision import Deadline, Decision
from keepstep.core.forgetting import forget_at, is_time
from keepstep.detector.core.observe import report_key, what_of
from keepstep.detector.core.state import JobFold, Lasting, NodeFold, Report, clearing, kept

Reported = DeviceReported | NodeReported | PublicFaultReported | ReportRead
REPORTS = (DeviceReported, NodeReported, PublicFaultReported, ReportRead)

MAX_REPORTS = 64
"""Faults of one node that are open; a node that floods evicts only its own."""
MAX_WAITING = 256
"""Reports of one node that wait; more of the same have no part in it."""
KEPT = timedelta(days=7)
"""A node of which nothing is reported for so long is forgotten: as long as an isolation stands by itself."""
HELD = timedelta(minutes=10)
"""How long a report holds back later ones of its thing: several times the longest outage of a bus that comes back. One
that is still there then was brought and could not be taken, and lies with the dead letters."""
OVER = "over/"
"""What a deadline waits for, with what was reported after it."""


@dataclass(frozen=True)
class Relay:
    """Bring a report to every job that has a task on the node."""

    pool: Pool
    node: NodeName
    report: Report

    @property
    def id(self) -> str:
        """The report's own id."""
        return f"relay/{self.report.id}"


def evidence_of(event: Reported) -> DeviceEvidence | NodeEvidence:
    """Return a report as evidence; a public fault without a device is about its node."""
    match event:
        case DeviceReported():
            return DeviceEvidence(device=event.device, code=event.code, text=event.text)
        case NodeReported():
            return NodeEvidence(condition=event.condition, text=event.text)
        case ReportRead():
            return event.evidence
        case PublicFaultReported():
            if event.device is not None:
                return DeviceEvidence(device=event.device, code=event.code, text=event.text)
            return NodeEvidence(condition=event.code, text=event.text)


def noted(fold: NodeFold, event: Reported, now: datetime) -> Decision[NodeFold]:
    """Keep the report until it was brought on, and until when it lasts, if its source knows."""
    if any(report.id == event.id for report in fold.reports):
        return Decision(fold)
    if isinstance(event, DeviceReported | NodeReported | PublicFaultReported) and not event.hurts:
        because = f"{what_of(evidence_of(event))} of node {fold.node} hurts no training"
        return Decision(fold.model_copy(update={"last_at": now, "forgotten": False}), because=because)
    active = event.active
    once = isinstance(event, DeviceReported | NodeReported) and event.once
    lasting = {what: each for what, each in fold.lasting.items() if what != what_of(evidence_of(event))}
    if isinstance(event, PublicFaultReported):
        active, once = active and not event.recovered, event.once
        if active and not once and event.duration is not None:
            lasting[what_of(evidence_of(event))] = Lasting(evidence=evidence_of(event), until=now + event.duration)
    report = Report(id=event.id, evidence=evidence_of(event), active=active, once=once, at=now)
    return Decision(_with_report(fold, report, lasting))


def _with_report(fold: NodeFold, report: Report, lasting: dict[str, Lasting]) -> NodeFold:
    return fold.model_copy(
        update={
            "reports": _waiting(fold.reports, report)[-MAX_WAITING:],
            "lasting": dict(list(lasting.items())[-MAX_REPORTS:]),
            "last_at": max((report.at, *(each.until for each in lasting.values()))),
            "forgotten": False,
        }
    )


def _waiting(reports: tuple[Report, ...], report: Report) -> tuple[Report, ...]:
    """Return the reports with one more, which takes the place of one that says the same of the same thing.

    Not of the first: it may be on its way already, to other jobs than run there by now.
    """
    same = [each for each in reports if what_of(each.evidence) == what_of(report.evidence)]
    if len(same) > 1 and (same[-1].active, same[-1].once) == (report.active, report.once):
        reports = tuple(each for each in reports if each is not same[-1])
    return (*reports, report)


def brought(fold: NodeFold, event: ReportPlaced, now: datetime) -> Decision[NodeFold]:
    """Forget a report that reached all jobs; where it reached none it is a fault of the node, once until it ends."""
    state, what = fold.model_copy(update={"reports": _left(fold.reports, event)}), what_of(event.evidence)
    entry = state.open.get(what)
    if not event.active:
        if entry is None:
            return Decision(state)
        because = f"node {fold.node} reports that {what} is over"
        cleared = clearing(entry, event, now=now, because=because, job=None, generation=None)
        still = {key: each for key, each in state.open.items() if key != what}
        return Decision(state.model_copy(update={"open": still}), (cleared,), because)
    if entry is not None or event.jobs != 0:
        return Decision(state)
    because = f"{what} of node {fold.node} reported, where no job runs"
    said = FaultDetected(
        **envelope(event, time=now),
        id=consequence_id("FaultDetected", event.id),
        subject_name=f"node {fold.node}",
        occurred=event.time,
        evidence=event.evidence,
        because=because,
    )
    opened = state.open if event.once else dict([*state.open.items(), (what, kept(said))][-MAX_REPORTS:])
    return Decision(state.model_copy(update={"open": opened}), (said,), because)


def _left(reports: tuple[Report, ...], event: ReportPlaced) -> tuple[Report, ...]:
    """Return the reports without the one that was brought, and without those of the same thing that it passed."""
    brought_at = next((place for place, each in enumerate(reports) if each.id == event.cause), None)
    if brought_at is None:
        return reports
    what = what_of(event.evidence)
    return tuple(each for place, each in enumerate(reports) if place > brought_at or what_of(each.evidence) != what)


def due(fold: NodeFold, event: Message, now: datetime) -> Decision[NodeFold]:
    """Let a fault end that was to last so long, and forget a node that was not heard of for long."""
    if is_time(event, fold.last_at, kept=KEPT):
        return Decision(fold.model_copy(update={"forgotten": True}))
    what = event.what.removeprefix(OVER) if isinstance(event, DeadlinePassed) else ""
    ends = fold.lasting.get(what)
    if ends is None or not isinstance(event, DeadlinePassed) or event.due != ends.until:
        return Decision(fold)
    report = Report(id=event.id, evidence=ends.evidence, active=False, at=now)
    return Decision(_with_report(fold, report, {key: each for key, each in fold.lasting.items() if key != what}))


def deadlines(fold: NodeFold) -> Iterable[Deadline]:
    """Return when faults end by themselves, and when a quiet node is forgotten."""
    if not fold.forgotten:
        yield from forget_at(fold.last_at, kept=KEPT)
    for what, each in fold.lasting.items():
        yield Deadline(what=f"{OVER}{what}", due=each.until)


def relays(fold: NodeFold) -> Iterable[Relay]:
    """Return what is to be brought on now: of each thing its oldest report, and the next where that is HELD behind it.

    Those that hurt no job wait longer than those that do: the end of a fault could pass its beginning, and leave it
    open in a job that came between them.
    """
    first: dict[str, list[Report]] = {}
    for report in fold.reports:
        before = first.setdefault(what_of(report.evidence), [])
        if all(report.at - each.at >= HELD for each in before):
            before.append(report)
    return (Relay(pool=fold.pool, node=fold.node, report=report) for each in first.values() for report in each)


def bring(relay: Relay, jobs: Iterable[JobFold]) -> tuple[ReportPlaced, ...]:
    """Return the report once for each of the jobs that it concerns now, and last once for the node itself."""
    hurt = [job for job in jobs if _concerns(relay, job)]
    refs = [job.job for job in sorted(hurt, key=lambda job: job.job.uid)]
    return tuple(
        ReportPlaced(
            id=consequence_id("ReportPlaced", relay.report.id, subject=job.uid if job is not None else ""),
            time=relay.report.at,
            pool=relay.pool,
            job=job,
            node=relay.node,
            cause=relay.report.id,
            evidence=relay.report.evidence,
            active=relay.report.active,
            once=relay.report.once,
            jobs=len(refs) if job is None else None,
        )
        for job in (*refs, None)
    )


def hurts(relay: Relay, jobs: Iterable[JobFold]) -> bool:
    """Tell whether the report concerns a job now: it is brought there before those that concern none."""
    return any(_concerns(relay, job) for job in jobs)


def _concerns(relay: Relay, job: JobFold) -> bool:
    """Tell whether the job runs on the node, or has the fault that is over open since it ran there."""
    if job.ended:
        return False
    if not relay.report.active and report_key(relay.node, relay.report.evidence) in job.open:
        return True
    return any(seat.node == relay.node for seat in job.tasks.values())
