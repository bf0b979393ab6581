"""Reports about nodes carry no job: they wait in the node's fold until they were brought to the jobs there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from keepstep.contracts.events import (
    DeviceEvidence,
    DeviceReported,
    FaultDetected,
    NodeEvidence,
    NodeReported,
    PublicFaultReported,
    ReportPlaced,
)
from keepstep.contracts.ids import NodeName, Pool, consequence_id
from keepstep.contracts.message import envelope
from keepstep.core.decision import Decision
from keepstep.detector.core.state import Fold, JobFold, NodeFold, Report

Reported = DeviceReported | NodeReported | PublicFaultReported

MAX_REPORTS = 64
"""Reports of one node that wait; a node that floods evicts only its own."""


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
        case PublicFaultReported():
            if event.device is not None:
                return DeviceEvidence(device=event.device, code=event.code, text=event.text)
            return NodeEvidence(condition=event.code, text=event.text)


def noted(fold: NodeFold, event: Reported, now: datetime) -> Decision[NodeFold]:
    """Keep the report until it was brought on."""
    if any(report.id == event.id for report in fold.reports):
        return Decision(fold)
    report = Report(id=event.id, evidence=evidence_of(event), active=event.active, at=now)
    return Decision(fold.model_copy(update={"reports": (*fold.reports, report)[-MAX_REPORTS:]}))


def brought(fold: NodeFold, event: ReportPlaced, now: datetime) -> Decision[NodeFold]:
    """Forget a report that reached all jobs; where it reached none it is a fault of the node, once until it ends."""
    left = tuple(report for report in fold.reports if report.id != event.cause)
    hurt = tuple(what for what in fold.hurt if what != _what(event.evidence))
    known = len(hurt) < len(fold.hurt)
    if event.active and (known or event.jobs == 0):
        hurt = (*hurt, _what(event.evidence))[-MAX_REPORTS:]
    state = fold.model_copy(update={"reports": left, "hurt": hurt})
    if not event.active or known or event.jobs != 0:
        return Decision(state)
    because = f"{_what(event.evidence)} of node {fold.node} reported, where no job runs"
    said = FaultDetected(
        **envelope(event, time=now),
        id=consequence_id("FaultDetected", event.id),
        subject_name=f"node {fold.node}",
        occurred=event.time,
        evidence=event.evidence,
        because=because,
    )
    return Decision(state, (said,), because)


def _what(evidence: DeviceEvidence | NodeEvidence) -> str:
    match evidence:
        case DeviceEvidence():
            return f"device {evidence.device} {evidence.code}"
        case NodeEvidence():
            return evidence.condition


def relays(fold: NodeFold) -> Iterable[Relay]:
    """Return what is still to be brought on."""
    return (Relay(pool=fold.pool, node=fold.node, report=report) for report in fold.reports)


def bring(relay: Relay, folds: Mapping[str, Fold]) -> tuple[ReportPlaced, ...]:
    """Return the report once for each job that runs on the node now, and last once for the node itself."""
    here = [
        fold.of
        for fold in folds.values()
        if isinstance(fold.of, JobFold)
        and not fold.of.ended
        and any(view.node == relay.node for view in fold.of.tasks.values())
    ]
    jobs = [job.job for job in sorted(here, key=lambda job: job.job.uid)]
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
            jobs=len(jobs) if job is None else None,
        )
        for job in (*jobs, None)
    )
