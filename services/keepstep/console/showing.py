"""Rows and views of jobs and nodes, put together from the parts of the model."""

from collections.abc import Collection
from datetime import datetime

from keepstep.console.model.faults import Kept as KeptFault
from keepstep.console.model.job import KeptJob
from keepstep.console.model.nodes import KeptNode
from keepstep.console.model.pool import PoolModel
from keepstep.console.views import HurtJob, IncidentRow, IsolationView, JobRow, JobView, NodeRow, NodeView
from keepstep.contracts.ids import JobUid
from keepstep.contracts.topology import JobSpec
from keepstep.core.node_standing import UNREADY
from keepstep.core.showing import shown
from keepstep.ports.cluster import CordonMark

HIDDEN = "***"
JOBS_SHOWN = 20
FAULTS_SHOWN = 50
HISTORY_SHOWN = 50


def job_row(job: KeptJob, now: datetime, *, open_incidents: int) -> JobRow:
    """Return a job as a listing shows it."""
    known, view = job.known, job.known.view
    accepted, ratio = known.run.accepted is not None, known.ratio(now)
    return JobRow(
        ref=job.ref,
        state=view.state.value,
        paused=view.paused,
        because=view.because,
        generation=view.generation,
        step=view.step,
        steps_per_s=None if job.ended else view.steps_per_s,
        tasks=len(view.placement) or (known.spec.nodes if known.spec else 0),
        ranks=sum(len(placed.ranks) for placed in view.placement) or (known.spec.world_size if known.spec else 0),
        since=known.since,
        ended=view.ended,
        incidents=known.history.total,
        open_incidents=open_incidents,
        last_fault=job.last_fault,
        ettr=ratio.ettr if accepted and ratio.known else None,
    )


def job_view(row: JobRow, job: KeptJob, model: PoolModel, incidents: tuple[IncidentRow, ...], now: datetime) -> JobView:
    """Return a job with all that is kept of it."""
    known = job.known
    return JobView(
        **dict(row),
        spec=None if known.spec is None else showable(known.spec),
        ratio=known.ratio(now) if known.run.accepted is not None else None,
        figures=job.sums.figures(),
        tolerance=tuple(job.tolerance.values()),
        tolerance_total=job.tolerance_total,
        incident_rows=incidents,
        grid=tuple(job.grid(now)),
        points=tuple(job.points),
        checkpoint=job.checkpoint,
        faults=tuple(kept.view() for kept in model.faults.of(job=job.ref.uid, active=True)[:FAULTS_SHOWN]),
        warnings=job.warnings,
    )


def showable(spec: JobSpec) -> JobSpec:
    """Return a job's specification without what may be a secret: addresses of routes and values of the environment."""
    return shown(spec).model_copy(update={"env": dict.fromkeys(spec.env, HIDDEN)})


def node_row(node: KeptNode, model: PoolModel, active: Collection[KeptFault]) -> NodeRow:
    """Return a node as a listing shows it; ``active`` are its faults that are not over."""
    newest = [kept.last for kept in active]
    return NodeRow(
        node=node.name,
        state=node.states[0],
        states=node.states,
        because=_because(node),
        group=None if node.status is None else node.status.group,
        isolated_devices=tuple(sorted(node.devices)),
        tasks=len(model.places.on(node.name)),
        jobs=model.places.jobs_on(node.name)[:JOBS_SHOWN],
        active_faults=len(active),
        faults=max(node.faults, len(active)),
        last_fault=max(newest if node.last_fault is None else (*newest, node.last_fault), default=None),
    )


def _because(node: KeptNode) -> str:
    """Return why it is lost and why it is isolated, as far as they hold."""
    mark = node.mark
    isolated = node.isolation.because if node.isolation is not None else "" if mark is None else _marked(mark)
    return "; ".join(filter(None, (UNREADY if node.ready is False else "", isolated)))


def _marked(mark: CordonMark) -> str:
    return f"{mark.owner}: {mark.reason}"


def node_view(node: KeptNode, model: PoolModel) -> NodeView:
    """Return a node with all that is kept of it."""
    newest = sorted(model.faults.of(node=node.name), key=lambda kept: kept.last, reverse=True)
    active = [kept for kept in newest if kept.ended is None]
    hurt: dict[JobUid, HurtJob] = {one.job.uid: one for one in model.places.hurt(node.name)}
    for kept in active:
        hurt |= {uid: one for uid, one in kept.hurt.items() if uid not in hurt}
    isolations: list[IsolationView] = [] if node.isolation is None else [node.isolation]
    return NodeView(
        **dict(node_row(node, model, active)),
        isolations=(*isolations, *node.devices.values()),
        hurt=tuple(hurt.values()),
        history=tuple(kept.view() for kept in newest[:HISTORY_SHOWN]),
        events=tuple(reversed(node.events)),
    )
