"""The first page: how the pool does."""

from starlette.requests import Request
from starlette.responses import Response

from keepstep.console.context import Here, Viewer
from keepstep.console.pages.failing import router as pages
from keepstep.console.pages.live import Follow
from keepstep.console.pages.rendering import page

router = pages()


@router.get("/")
async def overview(request: Request, here: Here, user: Viewer) -> Response:
    """Show the pool at a glance."""
    found = here.board.overview(
        here.now(), caught_up=here.live.caught_up, connected=here.live.connected, unreadable=here.live.unreadable
    )
    statistics = here.board.statistics()
    return page(request, user, "overview.html", follow=Follow(progress=True), pool=found, counts=statistics)
