"""Faults of the whole pool, of whatever kind, with the jobs and ranks that they hurt."""

from starlette.requests import Request
from starlette.responses import Response

from keepstep.console.board import FaultFilter
from keepstep.console.context import Here, Viewer
from keepstep.console.pages.asked import After, Text, chosen, filled
from keepstep.console.pages.failing import router as pages
from keepstep.console.pages.live import Follow
from keepstep.console.pages.rendering import page
from keepstep.console.views import FaultSource
from keepstep.contracts.ids import EventId

router = pages()
ACTIVE = {"active": True, "over": False}


@router.get("/faults")
async def faults(
    request: Request, here: Here, user: Viewer, *, source: Text = "", active: Text = "", node: Text = "",
    job: Text = "", after: After = "",
) -> Response:  # fmt: skip
    """List faults, newest first."""
    wanted = FaultFilter(
        source=chosen(source, FaultSource), active=ACTIVE.get(active), node=filled(node), job=filled(job)
    )
    listing = here.board.faults(wanted, after=EventId(after) if after else None)
    return page(
        request, user, "faults.html", follow=Follow(), listing=listing, sources=tuple(FaultSource),
        counts=here.board.statistics(), asked={"source": source, "active": active, "node": node, "job": job},
    )  # fmt: skip
