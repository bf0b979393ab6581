"""Reports about nodes carry no job: they wait in the node's fold until they were brought to the jobs there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from keepstep.contracts.events import (
    DeviceEvidence,
    DeviceReported,
    NodeEvidence,
    NodeReported,
    PublicFaultReported,
    ReportPlaced,
)
from keepstep.contracts.ids import NodeName, Pool, consequence_id
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


def brought(fold: NodeFold, event: ReportPlaced) -> Decision[NodeFold]:
    """Forget a report that reached all jobs."""
    left = tuple(report for report in fold.reports if report.id != event.cause)
    return Decision(fold.model_copy(update={"reports": left}))


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
        )
        for job in (*jobs, None)
    )
