"""``/api/v1``: what can be read."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Header, HTTPException, Query

from keepstep.console.board import FaultFilter, IncidentFilter
from keepstep.console.context import COUNTED, Here, Viewer, joined
from keepstep.console.hub import event_line
from keepstep.console.model.recent import Wanted
from keepstep.console.streaming import EventStream
from keepstep.console.views import (
    EventListing,
    FaultListing,
    FaultSource,
    IncidentListing,
    IncidentView,
    JobListing,
    JobView,
    NodeRow,
    NodeView,
    OrderView,
    Overview,
    Statistics,
    ToleranceEvent,
)
from keepstep.contracts.ids import EventId, IncidentId, JobUid
from keepstep.contracts.taxonomy import Category, Severity

router = APIRouter(dependencies=COUNTED)
Limit = Annotated[int, Query(ge=1, le=500)]
Text = Annotated[str | None, Query(max_length=200)]


@router.get("/overview")
async def overview(here: Here, _user: Viewer) -> Overview:
    """The pool at a glance."""
    return here.board.overview(
        here.now(), caught_up=here.live.caught_up, connected=here.live.connected, unreadable=here.live.unreadable
    )


@router.get("/jobs")
async def jobs(
    here: Here, _user: Viewer, *, state: Text = None, text: Text = None, after: Text = None, limit: Limit = 50
) -> JobListing:
    """Jobs, newest first; `after` is `next` of the listing before."""
    start = None if after is None else JobUid(after)
    return here.board.jobs(here.now(), state=state, text=text, after=start, limit=limit)


@router.get("/jobs/{job}")
async def job(here: Here, _user: Viewer, job: str) -> JobView:
    """One job by uid, first digits of it, or name."""
    found = here.board.job(job, here.now())
    if found is None:
        raise HTTPException(404, f"there is no job {job}")
    return found


@router.get("/orders/{uid}")
async def order(here: Here, _user: Viewer, uid: str) -> OrderView:
    """What became of an order to create a job, by the uid that its answer gave the job."""
    found = here.board.model.orders.get(JobUid(uid))
    if found is None:
        raise HTTPException(404, f"there is no order {uid}, or it is long ago")
    return found


@router.get("/jobs/{job}/tolerance")
async def tolerance(here: Here, _user: Viewer, job: str) -> tuple[ToleranceEvent, ...]:
    """The fault-tolerance event list of a job, the newest line last."""
    kept = here.board.job_of(job)
    if kept is None:
        raise HTTPException(404, f"there is no job {job}")
    return tuple(kept.tolerance.values())


@router.get("/incidents")
async def incidents(
    here: Here, _user: Viewer, *, job: Text = None, node: Text = None, category: Category | None = None,
    open: Annotated[bool | None, Query(description="only open ones, or only closed ones")] = None,  # noqa: A002 - the parameter's name on the wire
    text: Text = None, after: Text = None, limit: Limit = 50,
) -> IncidentListing:  # fmt: skip
    """Incidents, newest first; `after` is `next` of the listing before."""
    wanted = IncidentFilter(job=job, node=node, category=category, open=open, text=text)
    return here.board.incidents(wanted, after=None if after is None else IncidentId(after), limit=limit)


@router.get("/incidents/{incident}")
async def incident(here: Here, _user: Viewer, incident: str) -> IncidentView:
    """One incident by its id, or first digits that are of no other."""
    found = here.board.incident(incident)
    if found is None:
        raise HTTPException(404, f"no incident, or more than one, begins with {incident}")
    return found


@router.get("/nodes")
async def nodes(here: Here, _user: Viewer) -> tuple[NodeRow, ...]:
    """The nodes by name."""
    return here.board.nodes()


@router.get("/nodes/{node}")
async def node(here: Here, _user: Viewer, node: str) -> NodeView:
    """One node: isolations, fault history, and whom a fault there hurts."""
    found = here.board.node(node)
    if found is None:
        raise HTTPException(404, f"there is no node {node}")
    return found


@router.get("/faults")
async def faults(
    here: Here, _user: Viewer, *, source: FaultSource | None = None, active: bool | None = None, node: Text = None,
    job: Text = None, after: Text = None, limit: Limit = 50,
) -> FaultListing:  # fmt: skip
    """Faults of the whole pool, whatever found them, with the jobs and ranks that they hurt."""
    wanted = FaultFilter(source=source, active=active, node=node, job=job)
    return here.board.faults(wanted, after=None if after is None else EventId(after), limit=limit)


@router.get("/events")
async def events(
    here: Here, _user: Viewer, *, job: Text = None, node: Text = None, incident: Text = None, name: Text = None,
    severity: Severity | None = None, text: Text = None, since: datetime | None = None, until: datetime | None = None,
    before: Annotated[int | None, Query(ge=1, description="cursor: only older ones")] = None, limit: Limit = 100,
) -> EventListing:  # fmt: skip
    """Events, newest first; `before` is `next` of the listing before, which may be empty and yet not the last."""
    wanted = Wanted(
        job=job, node=node, incident=incident, name=name, severity=severity, text=text, since=_aware(since),
        until=_aware(until),
    )  # fmt: skip
    return await here.live.events(wanted, before=before, limit=limit)


def _aware(instant: datetime | None) -> datetime | None:
    if instant is not None and instant.tzinfo is None:
        raise HTTPException(422, "since, until: say the time zone, as in 2026-01-02T03:04:05Z")
    return instant


@router.get("/statistics")
async def statistics(here: Here, _user: Viewer) -> Statistics:
    """Counts of faults and incidents, of the pool and by job, with the last of each."""
    return here.board.statistics()


@router.get("/stream", response_class=EventStream, status_code=200)
async def stream(
    here: Here, user: Viewer, *, job: Text = None, node: Text = None, incident: Text = None, name: Text = None,
    severity: Severity | None = None, last_event_id: Annotated[int | None, Header(ge=0)] = None,
) -> EventStream:  # fmt: skip
    """New events as server-sent events, once a second `progress` of jobs that moved, and `nodes` when one is lost.

    `nodes` is said of every turn of a node that only the cluster shows, and asks to read them again.

    With `Last-Event-ID` first those after it, as far as they are at hand. Who does not keep up is told `dropped`.
    """
    wants = Wanted(job=job, node=node, incident=incident, name=name, severity=severity).test()
    subscription = joined(here, user, wants)
    after = None if last_event_id is None else here.board.model.recent.after(last_event_id)
    missed = [] if after is None else [event_line(event) for event in after if wants(event)]
    return EventStream(here.hub, subscription, missed)
