"""Answers what API and pages ask: views of the model as it is now. No answer changes anything."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from keepstep.console.model.faults import Kept
from keepstep.console.model.job import KeptJob
from keepstep.console.model.pool import PoolModel
from keepstep.console.model.recent import Wanted
from keepstep.console.model.turning import turned
from keepstep.console.showing import job_row, job_view, node_row, node_view
from keepstep.console.views import (
    EventListing,
    FaultListing,
    FaultSource,
    IncidentListing,
    IncidentRow,
    IncidentView,
    JobCount,
    JobListing,
    JobRow,
    JobView,
    NodeRow,
    NodeView,
    Overview,
    Statistics,
)
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName
from keepstep.contracts.taxonomy import Category
from keepstep.core.awaiting import Ground, ground_of
from keepstep.core.job_now import JobState
from keepstep.core.naming import means
from keepstep.core.node_standing import NodeState

NEWEST_INCIDENTS = 10
NEWEST_JOBS = 20
JOBS_COUNTED = 100


@dataclass(frozen=True)
class IncidentFilter:
    """Which incidents are asked for; None asks for any."""

    job: str | None = None
    """Uid or name."""
    node: str | None = None
    category: Category | None = None
    open: bool | None = None
    text: str | None = None
    """Found in the verdict's sentence or in who is blamed, whatever the case."""

    def wants(self, row: IncidentRow) -> bool:
        """Tell whether this is one of them."""
        return (
            (self.open is None or (row.outcome is None) is self.open)
            and (self.category is None or row.category is self.category)
            and (self.job is None or (row.job is not None and self.job in (row.job.uid, row.job.name)))
            and (self.node is None or row.node == self.node or f"node {self.node}" in row.who.split(", "))
            and (self.text is None or self.text.casefold() in f"{row.because} {row.who}".casefold())
        )


@dataclass(frozen=True)
class FaultFilter:
    """Which faults are asked for; None asks for any."""

    source: FaultSource | None = None
    active: bool | None = None
    node: str | None = None
    job: str | None = None
    """Uid or name of a job that it hurts."""

    def wants(self, kept: Kept) -> bool:
        """Tell whether this is one of them."""
        return (
            (self.source is None or kept.report.source is self.source)
            and (self.node is None or kept.report.node == self.node)
            and (self.job is None or any(self.job in (one.job.uid, one.job.name) for one in kept.hurt.values()))
        )


class Board:
    """The model of one pool, as views."""

    def __init__(self, model: PoolModel) -> None:
        self.model = model

    def overview(
        self, now: datetime, *, caught_up: bool = True, connected: bool = True, unreadable: int = 0
    ) -> Overview:
        """Return the first page."""
        model = self.model
        ratios = [job.known.ratio(now) for job in model.jobs if job.known.run.accepted is not None]
        wall = sum(ratio.wall_s for ratio in ratios)
        living = [job for job in model.jobs.newest() if not job.ended]
        states = Counter(job.known.view.state.value for job in model.jobs)
        return Overview(
            pool=model.pool,
            jobs=dict(states),
            running=states[JobState.RUNNING],
            open_incidents=len(model.incidents.open),
            isolated_nodes=model.nodes.count(NodeState.ISOLATED),
            lost_nodes=model.nodes.count(NodeState.LOST),
            active_faults=model.faults.active,
            paused=model.paused,
            blind=model.blind,
            ettr=sum(ratio.productive_s for ratio in ratios) / wall if wall else None,
            figures=model.counts.sums.figures(),
            newest=self._newest_incidents(),
            job_rows=self._rows(living[:NEWEST_JOBS], now),
            caught_up=caught_up,
            connected=connected,
            unreadable=unreadable,
        )

    def _newest_incidents(self) -> tuple[IncidentRow, ...]:
        incidents = self.model.incidents
        newest = islice(reversed(incidents.open), NEWEST_INCIDENTS)
        opened = [self._waiting(row) for name in newest if (row := incidents.row(name)) is not None]
        closed: list[IncidentRow] = []
        for row in incidents.newest():
            if len(opened) + len(closed) >= NEWEST_INCIDENTS:
                break
            if row.outcome is not None:
                closed.append(row)
        return tuple([*opened, *closed][:NEWEST_INCIDENTS])

    def jobs(
        self, now: datetime, *, state: str | None = None, text: str | None = None,
        after: JobUid | None = None, limit: int = 50,
    ) -> JobListing:  # fmt: skip
        """Return jobs, newest first: of a state, or whose name has the text in it."""
        found = [
            job
            for job in self.model.jobs.newest()
            if (state is None or job.known.view.state == state)
            and (text is None or text.casefold() in job.ref.name.casefold() or job.ref.uid.startswith(text))
        ]
        shown, more = turned(found, lambda job: job.ref.uid, after=after, limit=limit)
        return JobListing(items=self._rows(shown, now), total=len(found), next=more)

    def job_of(self, name: str) -> KeptJob | None:
        """Return the job of a uid, of its first digits, or of a name: one that lives before one that ended."""
        if (exact := self.model.jobs.get(JobUid(name))) is not None:
            return exact
        meant = [job for job in self.model.jobs.newest() if means(name, job.ref)]
        return next((job for job in meant if not job.ended), meant[0] if meant else None)

    def job(self, name: str, now: datetime) -> JobView | None:
        """Return one job with all that is kept of it."""
        kept = self.job_of(name)
        if kept is None:
            return None
        rows = [row for row in self.model.incidents.newest() if row.job is not None and row.job.uid == kept.ref.uid]
        (row,) = self._rows([kept], now)
        return job_view(row, kept, self.model, tuple(rows[:NEWEST_INCIDENTS]), now)

    def _rows(self, jobs: Iterable[KeptJob], now: datetime) -> tuple[JobRow, ...]:
        rows = (self.model.incidents.row(name) for name in self.model.incidents.open)
        opened = Counter(row.job.uid for row in rows if row is not None and row.job is not None)
        return tuple(job_row(job, now, open_incidents=opened[job.ref.uid]) for job in jobs)

    def incidents(
        self, wanted: IncidentFilter | None = None, *, after: IncidentId | None = None, limit: int = 50
    ) -> IncidentListing:
        """Return incidents, newest first."""
        found = self.model.incidents.listing((wanted or IncidentFilter()).wants, after=after, limit=limit)
        told = tuple(self._waiting(row) if row.outcome is None else row for row in found.items)
        return found.model_copy(update={"items": told})

    def incident(self, digits: str) -> IncidentView | None:
        """Return the one incident whose id is, or begins with, these digits; None for none or for several."""
        match self.model.incidents.named(digits):
            case (name,):
                row = self.model.incidents.row(name)
                return None if row is None else self.model.incidents.view(name, self._ground(row))
            case _:
                return None

    def _waiting(self, row: IncidentRow) -> IncidentRow:
        """Return the row of an open incident with what it waits for."""
        return row.model_copy(update={"waits": self.model.incidents.waits(row.incident, self._ground(row))})

    def _ground(self, row: IncidentRow) -> Ground:
        kept = None if row.job is None else self.model.jobs.get(row.job.uid)
        return ground_of(None if kept is None else kept.known)

    def nodes(self) -> tuple[NodeRow, ...]:
        """Return the nodes by name."""
        faults: dict[NodeName | None, list[Kept]] = {}
        for kept in self.model.faults.of(active=True):
            faults.setdefault(kept.report.node, []).append(kept)
        rows = (node_row(node, self.model, faults.get(node.name, ())) for node in self.model.nodes)
        return tuple(sorted(rows, key=lambda row: row.node))

    def node(self, name: str) -> NodeView | None:
        """Return one node with all that is kept of it."""
        kept = self.model.nodes.get(NodeName(name))
        return None if kept is None else node_view(kept, self.model)

    def faults(
        self, wanted: FaultFilter | None = None, *, after: EventId | None = None, limit: int = 50
    ) -> FaultListing:
        """Return the pool's faults, newest first."""
        asked = wanted or FaultFilter()
        return self.model.faults.listing(asked.wants, active=asked.active, after=after, limit=limit)

    def events(self, wanted: Wanted | None = None, *, before: int | None = None, limit: int = 100) -> EventListing:
        """Return events at hand, newest first, below a cursor."""
        return self.model.recent.listing(wanted or Wanted(), before=before, limit=limit)

    def statistics(self) -> Statistics:
        """Return the counts."""
        counts, jobs = self.model.counts, self.model.jobs
        by_job = [
            JobCount(job=job.ref, faults=job.faults, incidents=job.sums.incidents, last_fault=job.last_fault)
            for job in jobs
            if job.faults
        ]
        return Statistics(
            faults=counts.faults,
            detections=counts.detections,
            last_fault=counts.last_fault,
            by_source=counts.sources.counted(),
            by_category=counts.categories.counted(),
            by_level=counts.levels.counted(),
            by_outcome=counts.outcomes.counted(),
            by_job=tuple(sorted(by_job, key=lambda one: -one.faults)[:JOBS_COUNTED]),
            jobs=jobs.seen,
            incidents=counts.sums.incidents,
            figures=counts.sums.figures(),
        )
