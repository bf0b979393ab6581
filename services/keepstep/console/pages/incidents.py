"""Incidents, and one incident: verdict, timeline, evidence, what followed from the first cause, decisions, accounts."""

from fastapi import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from keepstep.console.board import IncidentFilter
from keepstep.console.context import COUNTED, Here, Operator, Viewer
from keepstep.console.pages.asked import After, Text, chosen, filled
from keepstep.console.pages.drawing.bars import drawn
from keepstep.console.pages.failing import router as pages
from keepstep.console.pages.live import Follow
from keepstep.console.pages.rendering import page
from keepstep.console.pages.telling import Done, back_to, told
from keepstep.contracts.ids import IncidentId
from keepstep.contracts.taxonomy import Category

router = pages()
OPEN = {"open": True, "closed": False}


@router.get("/incidents")
async def incidents(
    request: Request, here: Here, user: Viewer, *, open: Text = "", category: Text = "", job: Text = "",  # noqa: A002 - the parameter's name in the address, as in the API
    node: Text = "", text: Text = "", after: After = "",
) -> Response:  # fmt: skip
    """List incidents, newest first."""
    wanted = IncidentFilter(
        job=filled(job), node=filled(node), category=chosen(category, Category), open=OPEN.get(open), text=filled(text)
    )
    listing = here.board.incidents(wanted, after=IncidentId(after) if after else None)
    return page(
        request, user, "incidents.html", follow=Follow(), listing=listing, categories=tuple(Category),
        asked={"open": open, "category": category, "job": job, "node": node, "text": text},
    )  # fmt: skip


@router.get("/incidents/{incident:path}")
async def incident(request: Request, here: Here, user: Viewer, incident: str, *, done: Text = "") -> Response:
    """Show one incident."""
    found = here.board.incident(incident)
    if found is None:
        raise HTTPException(404, f"no incident, or more than one, begins with {incident}")
    return page(
        request, user, "incident.html", follow=Follow(incident=found.incident, progress=found.closed is None),
        incident=found, drawn=drawn(found, here.now()), done=told(done),
    )  # fmt: skip


@router.post("/incidents/{incident:path}/ack", dependencies=COUNTED)
async def acknowledge(here: Here, user: Operator, incident: str) -> Response:
    """Say that this user looks after the incident."""
    await here.desk.acknowledge(incident, user)
    return back_to("incidents", incident, Done.ACKNOWLEDGING)
